package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 175 of the total of a line. */
public final class Step175 {

    private Step175() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step176.of(price, quantity);
    }
}
