package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 170 of the total of a line. */
public final class Step170 {

    private Step170() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step171.of(price, quantity);
    }
}
