package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 174 of the total of a line. */
public final class Step174 {

    private Step174() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step175.of(price, quantity);
    }
}
