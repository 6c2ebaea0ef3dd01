package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 71 of the total of a line. */
public final class Step071 {

    private Step071() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step072.of(price, quantity);
    }
}
