package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 0 of the total of a line. */
public final class Step000 {

    private Step000() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step001.of(price, quantity);
    }
}
