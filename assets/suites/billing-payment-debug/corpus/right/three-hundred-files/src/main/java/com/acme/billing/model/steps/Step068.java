package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 68 of the total of a line. */
public final class Step068 {

    private Step068() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step069.of(price, quantity);
    }
}
