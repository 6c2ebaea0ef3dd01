package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 111 of the total of a line. */
public final class Step111 {

    private Step111() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step112.of(price, quantity);
    }
}
