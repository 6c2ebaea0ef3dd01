package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 221 of the total of a line. */
public final class Step221 {

    private Step221() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step222.of(price, quantity);
    }
}
