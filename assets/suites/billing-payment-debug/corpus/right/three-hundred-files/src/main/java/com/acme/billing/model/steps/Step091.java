package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 91 of the total of a line. */
public final class Step091 {

    private Step091() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step092.of(price, quantity);
    }
}
