package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 218 of the total of a line. */
public final class Step218 {

    private Step218() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step219.of(price, quantity);
    }
}
