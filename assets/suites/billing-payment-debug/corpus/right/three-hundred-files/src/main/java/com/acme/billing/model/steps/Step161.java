package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 161 of the total of a line. */
public final class Step161 {

    private Step161() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step162.of(price, quantity);
    }
}
