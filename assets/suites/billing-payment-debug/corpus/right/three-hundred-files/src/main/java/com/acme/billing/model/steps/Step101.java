package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 101 of the total of a line. */
public final class Step101 {

    private Step101() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step102.of(price, quantity);
    }
}
