package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 63 of the total of a line. */
public final class Step063 {

    private Step063() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step064.of(price, quantity);
    }
}
