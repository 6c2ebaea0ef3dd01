package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 64 of the total of a line. */
public final class Step064 {

    private Step064() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step065.of(price, quantity);
    }
}
