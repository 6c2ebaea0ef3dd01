package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 70 of the total of a line. */
public final class Step070 {

    private Step070() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step071.of(price, quantity);
    }
}
