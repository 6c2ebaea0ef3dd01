package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 283 of the total of a line. */
public final class Step283 {

    private Step283() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step284.of(price, quantity);
    }
}
