package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 144 of the total of a line. */
public final class Step144 {

    private Step144() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step145.of(price, quantity);
    }
}
