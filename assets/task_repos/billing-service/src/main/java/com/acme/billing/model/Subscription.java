package com.acme.billing.model;

import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.Objects;

/**
 * A customer's plan for the running billing period.
 *
 * @param periodStart first day of the period
 * @param periodEnd   last day of the period, which still belongs to it
 */
public record Subscription(String id, String customerId, String planId,
                           LocalDate periodStart, LocalDate periodEnd) {

    public Subscription {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(customerId, "customerId");
        Objects.requireNonNull(planId, "planId");
        if (periodEnd.isBefore(periodStart)) {
            throw new BillingException("a billing period cannot end before it starts");
        }
    }

    /** Returns the number of days of the period, its first and its last day included. */
    public long periodDays() {
        return ChronoUnit.DAYS.between(periodStart, periodEnd) + 1;
    }

    /** Tells whether {@code day} belongs to the running period. */
    public boolean covers(LocalDate day) {
        return !day.isBefore(periodStart) && !day.isAfter(periodEnd);
    }

    public Subscription withPlan(String newPlanId) {
        return new Subscription(id, customerId, newPlanId, periodStart, periodEnd);
    }
}
