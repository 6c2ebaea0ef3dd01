package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 151 of the total of a line. */
public final class Step151 {

    private Step151() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step152.of(price, quantity);
    }
}
