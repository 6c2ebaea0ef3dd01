package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 97 of the total of a line. */
public final class Step097 {

    private Step097() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step098.of(price, quantity);
    }
}
