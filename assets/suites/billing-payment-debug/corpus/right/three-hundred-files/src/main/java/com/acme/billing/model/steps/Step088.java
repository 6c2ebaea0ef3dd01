package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 88 of the total of a line. */
public final class Step088 {

    private Step088() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step089.of(price, quantity);
    }
}
