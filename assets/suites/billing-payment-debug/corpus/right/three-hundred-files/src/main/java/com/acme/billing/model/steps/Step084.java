package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 84 of the total of a line. */
public final class Step084 {

    private Step084() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step085.of(price, quantity);
    }
}
