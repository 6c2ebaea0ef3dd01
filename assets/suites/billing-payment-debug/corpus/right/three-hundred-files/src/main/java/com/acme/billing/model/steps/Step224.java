package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 224 of the total of a line. */
public final class Step224 {

    private Step224() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step225.of(price, quantity);
    }
}
