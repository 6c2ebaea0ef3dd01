package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 61 of the total of a line. */
public final class Step061 {

    private Step061() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step062.of(price, quantity);
    }
}
