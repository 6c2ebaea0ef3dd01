package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 287 of the total of a line. */
public final class Step287 {

    private Step287() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step288.of(price, quantity);
    }
}
