package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 277 of the total of a line. */
public final class Step277 {

    private Step277() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step278.of(price, quantity);
    }
}
