package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 180 of the total of a line. */
public final class Step180 {

    private Step180() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step181.of(price, quantity);
    }
}
