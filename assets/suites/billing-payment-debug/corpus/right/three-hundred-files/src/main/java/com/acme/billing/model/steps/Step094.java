package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 94 of the total of a line. */
public final class Step094 {

    private Step094() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step095.of(price, quantity);
    }
}
