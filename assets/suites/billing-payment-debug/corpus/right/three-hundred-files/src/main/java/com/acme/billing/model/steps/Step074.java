package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 74 of the total of a line. */
public final class Step074 {

    private Step074() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step075.of(price, quantity);
    }
}
