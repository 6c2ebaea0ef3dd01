package com.acme.billing.model;

import java.time.Instant;
import java.util.Objects;

/**
 * A metered use of the service.
 *
 * @param at    when it happened
 * @param units how much was used, at least one
 */
public record UsageRecord(String customerId, Instant at, long units) {

    public UsageRecord {
        Objects.requireNonNull(customerId, "customerId");
        Objects.requireNonNull(at, "at");
        if (units < 1) {
            throw new BillingException("usage must be at least one unit");
        }
    }
}
