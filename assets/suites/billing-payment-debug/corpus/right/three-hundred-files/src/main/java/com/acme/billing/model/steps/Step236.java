package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 236 of the total of a line. */
public final class Step236 {

    private Step236() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step237.of(price, quantity);
    }
}
