package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 213 of the total of a line. */
public final class Step213 {

    private Step213() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step214.of(price, quantity);
    }
}
