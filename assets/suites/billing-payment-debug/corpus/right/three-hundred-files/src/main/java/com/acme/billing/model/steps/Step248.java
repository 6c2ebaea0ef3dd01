package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 248 of the total of a line. */
public final class Step248 {

    private Step248() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step249.of(price, quantity);
    }
}
