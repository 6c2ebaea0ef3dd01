package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 173 of the total of a line. */
public final class Step173 {

    private Step173() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step174.of(price, quantity);
    }
}
