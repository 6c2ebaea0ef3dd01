package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 271 of the total of a line. */
public final class Step271 {

    private Step271() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step272.of(price, quantity);
    }
}
