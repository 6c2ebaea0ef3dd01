package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 140 of the total of a line. */
public final class Step140 {

    private Step140() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step141.of(price, quantity);
    }
}
