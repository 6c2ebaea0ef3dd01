package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 65 of the total of a line. */
public final class Step065 {

    private Step065() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step066.of(price, quantity);
    }
}
