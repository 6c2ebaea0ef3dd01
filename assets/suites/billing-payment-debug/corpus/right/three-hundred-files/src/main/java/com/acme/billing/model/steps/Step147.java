package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 147 of the total of a line. */
public final class Step147 {

    private Step147() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step148.of(price, quantity);
    }
}
