package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 30 of the total of a line. */
public final class Step030 {

    private Step030() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step031.of(price, quantity);
    }
}
