package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Objects;

/**
 * The share of a net amount that is due as tax in a region.
 *
 * @param rate a fraction, with as many decimals as the law asks for: a tenth is {@code 0.1}
 */
public record TaxRate(String region, BigDecimal rate) {

    public TaxRate {
        Objects.requireNonNull(region, "region");
        Objects.requireNonNull(rate, "rate");
        if (rate.signum() < 0 || rate.compareTo(BigDecimal.ONE) > 0) {
            throw new BillingException("a tax rate lies between zero and one");
        }
    }
}
