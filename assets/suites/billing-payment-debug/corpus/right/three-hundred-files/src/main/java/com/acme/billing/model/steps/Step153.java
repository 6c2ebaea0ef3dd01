package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 153 of the total of a line. */
public final class Step153 {

    private Step153() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step154.of(price, quantity);
    }
}
