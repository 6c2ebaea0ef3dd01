package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 234 of the total of a line. */
public final class Step234 {

    private Step234() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step235.of(price, quantity);
    }
}
