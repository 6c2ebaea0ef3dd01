package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 73 of the total of a line. */
public final class Step073 {

    private Step073() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step074.of(price, quantity);
    }
}
