package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 281 of the total of a line. */
public final class Step281 {

    private Step281() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step282.of(price, quantity);
    }
}
