package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 163 of the total of a line. */
public final class Step163 {

    private Step163() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step164.of(price, quantity);
    }
}
