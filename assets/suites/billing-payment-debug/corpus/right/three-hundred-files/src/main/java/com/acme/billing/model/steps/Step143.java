package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 143 of the total of a line. */
public final class Step143 {

    private Step143() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step144.of(price, quantity);
    }
}
