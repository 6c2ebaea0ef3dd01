package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 81 of the total of a line. */
public final class Step081 {

    private Step081() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step082.of(price, quantity);
    }
}
