package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 123 of the total of a line. */
public final class Step123 {

    private Step123() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step124.of(price, quantity);
    }
}
