package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 75 of the total of a line. */
public final class Step075 {

    private Step075() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step076.of(price, quantity);
    }
}
