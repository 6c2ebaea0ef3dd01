package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 183 of the total of a line. */
public final class Step183 {

    private Step183() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step184.of(price, quantity);
    }
}
