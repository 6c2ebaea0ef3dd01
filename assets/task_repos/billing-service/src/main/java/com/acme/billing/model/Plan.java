package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Objects;

/**
 * What a customer can subscribe to.
 *
 * @param price price of one whole billing period, before tax
 */
public record Plan(String id, String name, BigDecimal price) {

    public Plan {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(price, "price");
        if (price.signum() < 0) {
            throw new BillingException("a plan cannot cost less than nothing");
        }
    }
}
