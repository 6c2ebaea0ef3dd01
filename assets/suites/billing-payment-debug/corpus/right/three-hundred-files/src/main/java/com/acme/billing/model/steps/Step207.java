package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 207 of the total of a line. */
public final class Step207 {

    private Step207() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step208.of(price, quantity);
    }
}
