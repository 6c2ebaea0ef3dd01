package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 32 of the total of a line. */
public final class Step032 {

    private Step032() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step033.of(price, quantity);
    }
}
