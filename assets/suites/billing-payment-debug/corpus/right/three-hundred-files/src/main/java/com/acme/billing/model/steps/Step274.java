package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 274 of the total of a line. */
public final class Step274 {

    private Step274() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step275.of(price, quantity);
    }
}
