package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 51 of the total of a line. */
public final class Step051 {

    private Step051() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step052.of(price, quantity);
    }
}
