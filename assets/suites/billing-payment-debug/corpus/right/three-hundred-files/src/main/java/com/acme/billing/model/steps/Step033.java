package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 33 of the total of a line. */
public final class Step033 {

    private Step033() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step034.of(price, quantity);
    }
}
