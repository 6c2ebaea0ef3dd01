package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 77 of the total of a line. */
public final class Step077 {

    private Step077() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step078.of(price, quantity);
    }
}
