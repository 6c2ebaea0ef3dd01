package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 247 of the total of a line. */
public final class Step247 {

    private Step247() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step248.of(price, quantity);
    }
}
