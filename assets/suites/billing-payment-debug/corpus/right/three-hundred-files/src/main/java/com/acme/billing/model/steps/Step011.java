package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 11 of the total of a line. */
public final class Step011 {

    private Step011() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step012.of(price, quantity);
    }
}
