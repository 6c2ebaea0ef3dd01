package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 226 of the total of a line. */
public final class Step226 {

    private Step226() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step227.of(price, quantity);
    }
}
