package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 250 of the total of a line. */
public final class Step250 {

    private Step250() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step251.of(price, quantity);
    }
}
