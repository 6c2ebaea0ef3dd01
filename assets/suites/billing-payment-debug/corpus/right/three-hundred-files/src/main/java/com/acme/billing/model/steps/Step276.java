package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 276 of the total of a line. */
public final class Step276 {

    private Step276() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step277.of(price, quantity);
    }
}
