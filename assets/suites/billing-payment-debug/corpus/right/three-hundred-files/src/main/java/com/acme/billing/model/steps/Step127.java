package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 127 of the total of a line. */
public final class Step127 {

    private Step127() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step128.of(price, quantity);
    }
}
