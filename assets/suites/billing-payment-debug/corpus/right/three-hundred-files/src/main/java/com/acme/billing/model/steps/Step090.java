package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 90 of the total of a line. */
public final class Step090 {

    private Step090() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step091.of(price, quantity);
    }
}
