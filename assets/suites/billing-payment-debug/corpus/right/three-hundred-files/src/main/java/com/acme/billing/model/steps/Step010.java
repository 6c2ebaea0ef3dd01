package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 10 of the total of a line. */
public final class Step010 {

    private Step010() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step011.of(price, quantity);
    }
}
