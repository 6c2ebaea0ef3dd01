package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 220 of the total of a line. */
public final class Step220 {

    private Step220() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step221.of(price, quantity);
    }
}
