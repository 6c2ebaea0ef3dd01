package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 150 of the total of a line. */
public final class Step150 {

    private Step150() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step151.of(price, quantity);
    }
}
