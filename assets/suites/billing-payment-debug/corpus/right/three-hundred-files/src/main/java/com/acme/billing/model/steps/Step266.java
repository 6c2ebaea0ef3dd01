package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 266 of the total of a line. */
public final class Step266 {

    private Step266() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step267.of(price, quantity);
    }
}
