package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.Objects;

/**
 * A promise to charge less, as a customer enters it at checkout.
 *
 * @param code  letters, digits and hyphens; stands for the same coupon in capitals and in small letters
 * @param value percentage points of what is left to pay, or an amount, as {@code kind} says
 */
public record Coupon(String code, Kind kind, BigDecimal value) {

    private static final BigDecimal EVERYTHING = BigDecimal.valueOf(100);

    /** What the value of a coupon means. */
    public enum Kind {
        /** So many percent of what is left to pay, at most all of it. */
        PERCENT,
        /** So much money. */
        FIXED
    }

    public Coupon {
        Objects.requireNonNull(code, "code");
        Objects.requireNonNull(kind, "kind");
        if (!code.matches("[A-Za-z0-9-]+")) {
            throw new BillingException("a coupon code consists of letters, digits and hyphens");
        }
        Money.requirePositive(value, "a coupon");
        if (kind == Kind.PERCENT && value.compareTo(EVERYTHING) > 0) {
            throw new BillingException("a coupon cannot take off more than everything");
        }
    }

    /** Returns what this coupon takes off {@code amount}, in whole cents; may be more than the amount. */
    public BigDecimal reductionOf(BigDecimal amount) {
        return Money.round(switch (kind) {
            case PERCENT -> amount.multiply(value).divide(EVERYTHING);
            case FIXED -> value;
        });
    }

    /** Coupons of one code are one coupon, whatever they promise. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Coupon coupon && code.equalsIgnoreCase(coupon.code);
    }

    @Override
    public int hashCode() {
        return code.toUpperCase(Locale.ROOT).hashCode();
    }
}
