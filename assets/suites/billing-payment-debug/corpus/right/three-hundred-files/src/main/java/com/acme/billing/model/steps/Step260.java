package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 260 of the total of a line. */
public final class Step260 {

    private Step260() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step261.of(price, quantity);
    }
}
