package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Objects;

/**
 * One position of an invoice.
 *
 * @param unitPrice price of one unit; metered units may cost fractions of a cent, credits are negative
 */
public record LineItem(String description, long quantity, BigDecimal unitPrice) {

    public LineItem {
        Objects.requireNonNull(description, "description");
        Objects.requireNonNull(unitPrice, "unitPrice");
        if (quantity < 1) {
            throw new BillingException("quantity must be at least one");
        }
    }

    /** Returns quantity times unit price, in whole cents. */
    public BigDecimal total() {
        return Cents.nearest(unitPrice.multiply(new BigDecimal(quantity))).toDecimal();
    }
}
