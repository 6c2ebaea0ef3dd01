package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 179 of the total of a line. */
public final class Step179 {

    private Step179() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step180.of(price, quantity);
    }
}
