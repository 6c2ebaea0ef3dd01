package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 133 of the total of a line. */
public final class Step133 {

    private Step133() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step134.of(price, quantity);
    }
}
