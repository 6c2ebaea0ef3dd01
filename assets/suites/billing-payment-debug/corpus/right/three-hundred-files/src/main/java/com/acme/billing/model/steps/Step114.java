package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 114 of the total of a line. */
public final class Step114 {

    private Step114() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step115.of(price, quantity);
    }
}
