package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 93 of the total of a line. */
public final class Step093 {

    private Step093() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step094.of(price, quantity);
    }
}
