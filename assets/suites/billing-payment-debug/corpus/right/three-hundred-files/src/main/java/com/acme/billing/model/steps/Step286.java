package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 286 of the total of a line. */
public final class Step286 {

    private Step286() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step287.of(price, quantity);
    }
}
