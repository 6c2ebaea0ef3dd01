package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 232 of the total of a line. */
public final class Step232 {

    private Step232() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step233.of(price, quantity);
    }
}
