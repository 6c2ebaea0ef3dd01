package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 215 of the total of a line. */
public final class Step215 {

    private Step215() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step216.of(price, quantity);
    }
}
