package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 190 of the total of a line. */
public final class Step190 {

    private Step190() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step191.of(price, quantity);
    }
}
