package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 227 of the total of a line. */
public final class Step227 {

    private Step227() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step228.of(price, quantity);
    }
}
