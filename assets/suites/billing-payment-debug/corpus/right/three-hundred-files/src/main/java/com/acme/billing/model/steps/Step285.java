package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 285 of the total of a line. */
public final class Step285 {

    private Step285() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step286.of(price, quantity);
    }
}
