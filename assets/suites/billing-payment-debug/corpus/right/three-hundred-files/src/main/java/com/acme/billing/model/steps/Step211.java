package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 211 of the total of a line. */
public final class Step211 {

    private Step211() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step212.of(price, quantity);
    }
}
