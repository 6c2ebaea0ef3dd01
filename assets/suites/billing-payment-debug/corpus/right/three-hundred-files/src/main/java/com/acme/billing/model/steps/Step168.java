package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 168 of the total of a line. */
public final class Step168 {

    private Step168() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step169.of(price, quantity);
    }
}
