package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 132 of the total of a line. */
public final class Step132 {

    private Step132() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step133.of(price, quantity);
    }
}
