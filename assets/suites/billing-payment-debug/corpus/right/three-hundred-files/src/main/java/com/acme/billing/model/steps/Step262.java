package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 262 of the total of a line. */
public final class Step262 {

    private Step262() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step263.of(price, quantity);
    }
}
