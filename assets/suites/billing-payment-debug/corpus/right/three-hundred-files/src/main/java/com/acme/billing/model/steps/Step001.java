package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 1 of the total of a line. */
public final class Step001 {

    private Step001() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step002.of(price, quantity);
    }
}
