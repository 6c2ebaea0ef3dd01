package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 210 of the total of a line. */
public final class Step210 {

    private Step210() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step211.of(price, quantity);
    }
}
