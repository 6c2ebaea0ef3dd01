package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 149 of the total of a line. */
public final class Step149 {

    private Step149() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step150.of(price, quantity);
    }
}
