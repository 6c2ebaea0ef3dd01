package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 177 of the total of a line. */
public final class Step177 {

    private Step177() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step178.of(price, quantity);
    }
}
