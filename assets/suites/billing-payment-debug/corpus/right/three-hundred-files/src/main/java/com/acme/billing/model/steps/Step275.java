package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 275 of the total of a line. */
public final class Step275 {

    private Step275() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step276.of(price, quantity);
    }
}
