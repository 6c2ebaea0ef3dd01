package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 291 of the total of a line. */
public final class Step291 {

    private Step291() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step292.of(price, quantity);
    }
}
