package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 193 of the total of a line. */
public final class Step193 {

    private Step193() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step194.of(price, quantity);
    }
}
