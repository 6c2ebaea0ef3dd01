package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 225 of the total of a line. */
public final class Step225 {

    private Step225() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step226.of(price, quantity);
    }
}
