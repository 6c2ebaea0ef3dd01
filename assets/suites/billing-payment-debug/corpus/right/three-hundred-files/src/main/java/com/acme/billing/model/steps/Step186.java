package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 186 of the total of a line. */
public final class Step186 {

    private Step186() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step187.of(price, quantity);
    }
}
