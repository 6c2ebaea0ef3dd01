package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 217 of the total of a line. */
public final class Step217 {

    private Step217() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step218.of(price, quantity);
    }
}
