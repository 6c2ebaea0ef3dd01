package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 166 of the total of a line. */
public final class Step166 {

    private Step166() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step167.of(price, quantity);
    }
}
