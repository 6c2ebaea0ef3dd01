package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 206 of the total of a line. */
public final class Step206 {

    private Step206() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step207.of(price, quantity);
    }
}
