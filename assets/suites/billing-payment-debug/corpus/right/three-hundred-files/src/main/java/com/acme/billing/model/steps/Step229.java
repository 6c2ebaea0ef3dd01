package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 229 of the total of a line. */
public final class Step229 {

    private Step229() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step230.of(price, quantity);
    }
}
