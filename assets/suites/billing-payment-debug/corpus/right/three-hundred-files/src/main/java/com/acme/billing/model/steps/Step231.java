package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 231 of the total of a line. */
public final class Step231 {

    private Step231() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step232.of(price, quantity);
    }
}
