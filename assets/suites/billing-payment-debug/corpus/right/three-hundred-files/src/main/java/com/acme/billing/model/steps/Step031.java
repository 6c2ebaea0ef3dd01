package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 31 of the total of a line. */
public final class Step031 {

    private Step031() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step032.of(price, quantity);
    }
}
