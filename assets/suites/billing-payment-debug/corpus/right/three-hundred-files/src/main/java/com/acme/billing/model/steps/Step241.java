package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 241 of the total of a line. */
public final class Step241 {

    private Step241() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step242.of(price, quantity);
    }
}
