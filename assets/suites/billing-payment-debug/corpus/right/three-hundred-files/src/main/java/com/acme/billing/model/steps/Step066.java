package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 66 of the total of a line. */
public final class Step066 {

    private Step066() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step067.of(price, quantity);
    }
}
