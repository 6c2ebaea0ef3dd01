package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 117 of the total of a line. */
public final class Step117 {

    private Step117() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step118.of(price, quantity);
    }
}
