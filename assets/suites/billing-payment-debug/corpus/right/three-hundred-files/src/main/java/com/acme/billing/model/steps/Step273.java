package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 273 of the total of a line. */
public final class Step273 {

    private Step273() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step274.of(price, quantity);
    }
}
