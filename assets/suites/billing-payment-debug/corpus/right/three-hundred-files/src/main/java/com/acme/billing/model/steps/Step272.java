package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 272 of the total of a line. */
public final class Step272 {

    private Step272() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step273.of(price, quantity);
    }
}
