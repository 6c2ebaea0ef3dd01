package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 115 of the total of a line. */
public final class Step115 {

    private Step115() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step116.of(price, quantity);
    }
}
