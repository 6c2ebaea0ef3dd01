package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 251 of the total of a line. */
public final class Step251 {

    private Step251() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step252.of(price, quantity);
    }
}
