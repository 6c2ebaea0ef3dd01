package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 265 of the total of a line. */
public final class Step265 {

    private Step265() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step266.of(price, quantity);
    }
}
