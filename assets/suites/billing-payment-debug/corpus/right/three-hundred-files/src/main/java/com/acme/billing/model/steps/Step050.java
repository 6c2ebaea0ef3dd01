package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 50 of the total of a line. */
public final class Step050 {

    private Step050() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step051.of(price, quantity);
    }
}
