package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 154 of the total of a line. */
public final class Step154 {

    private Step154() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step155.of(price, quantity);
    }
}
