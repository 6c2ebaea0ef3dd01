package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 131 of the total of a line. */
public final class Step131 {

    private Step131() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step132.of(price, quantity);
    }
}
