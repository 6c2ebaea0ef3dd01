package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 233 of the total of a line. */
public final class Step233 {

    private Step233() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step234.of(price, quantity);
    }
}
