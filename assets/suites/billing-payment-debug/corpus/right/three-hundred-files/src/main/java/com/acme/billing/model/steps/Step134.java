package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 134 of the total of a line. */
public final class Step134 {

    private Step134() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step135.of(price, quantity);
    }
}
