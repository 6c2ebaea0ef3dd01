package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 83 of the total of a line. */
public final class Step083 {

    private Step083() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step084.of(price, quantity);
    }
}
