package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 141 of the total of a line. */
public final class Step141 {

    private Step141() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step142.of(price, quantity);
    }
}
