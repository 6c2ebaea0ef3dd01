package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 216 of the total of a line. */
public final class Step216 {

    private Step216() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step217.of(price, quantity);
    }
}
