package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 176 of the total of a line. */
public final class Step176 {

    private Step176() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step177.of(price, quantity);
    }
}
