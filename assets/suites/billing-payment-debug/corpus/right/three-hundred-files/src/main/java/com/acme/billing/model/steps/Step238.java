package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 238 of the total of a line. */
public final class Step238 {

    private Step238() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step239.of(price, quantity);
    }
}
