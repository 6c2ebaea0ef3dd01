package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 76 of the total of a line. */
public final class Step076 {

    private Step076() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step077.of(price, quantity);
    }
}
