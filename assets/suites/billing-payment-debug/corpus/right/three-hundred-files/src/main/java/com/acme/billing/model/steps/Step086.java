package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 86 of the total of a line. */
public final class Step086 {

    private Step086() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step087.of(price, quantity);
    }
}
