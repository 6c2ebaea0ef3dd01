package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 135 of the total of a line. */
public final class Step135 {

    private Step135() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step136.of(price, quantity);
    }
}
