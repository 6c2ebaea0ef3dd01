package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 191 of the total of a line. */
public final class Step191 {

    private Step191() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step192.of(price, quantity);
    }
}
