package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 288 of the total of a line. */
public final class Step288 {

    private Step288() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step289.of(price, quantity);
    }
}
