package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 264 of the total of a line. */
public final class Step264 {

    private Step264() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step265.of(price, quantity);
    }
}
