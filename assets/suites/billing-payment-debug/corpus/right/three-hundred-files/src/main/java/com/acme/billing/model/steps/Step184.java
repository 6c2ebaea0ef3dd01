package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 184 of the total of a line. */
public final class Step184 {

    private Step184() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step185.of(price, quantity);
    }
}
