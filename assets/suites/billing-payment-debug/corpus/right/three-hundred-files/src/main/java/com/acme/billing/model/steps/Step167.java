package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 167 of the total of a line. */
public final class Step167 {

    private Step167() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step168.of(price, quantity);
    }
}
