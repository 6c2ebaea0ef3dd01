package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 235 of the total of a line. */
public final class Step235 {

    private Step235() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step236.of(price, quantity);
    }
}
