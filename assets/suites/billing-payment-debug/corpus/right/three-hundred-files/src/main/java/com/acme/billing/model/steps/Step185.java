package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 185 of the total of a line. */
public final class Step185 {

    private Step185() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step186.of(price, quantity);
    }
}
