package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 121 of the total of a line. */
public final class Step121 {

    private Step121() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step122.of(price, quantity);
    }
}
