package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 165 of the total of a line. */
public final class Step165 {

    private Step165() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step166.of(price, quantity);
    }
}
