package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 253 of the total of a line. */
public final class Step253 {

    private Step253() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step254.of(price, quantity);
    }
}
