package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 182 of the total of a line. */
public final class Step182 {

    private Step182() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step183.of(price, quantity);
    }
}
