package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 187 of the total of a line. */
public final class Step187 {

    private Step187() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step188.of(price, quantity);
    }
}
