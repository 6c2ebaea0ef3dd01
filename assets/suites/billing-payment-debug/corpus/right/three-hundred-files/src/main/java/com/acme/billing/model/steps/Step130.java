package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 130 of the total of a line. */
public final class Step130 {

    private Step130() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step131.of(price, quantity);
    }
}
