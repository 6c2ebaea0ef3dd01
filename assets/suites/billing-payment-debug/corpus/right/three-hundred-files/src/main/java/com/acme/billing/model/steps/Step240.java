package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 240 of the total of a line. */
public final class Step240 {

    private Step240() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step241.of(price, quantity);
    }
}
