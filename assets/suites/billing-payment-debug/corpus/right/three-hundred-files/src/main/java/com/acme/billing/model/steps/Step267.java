package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 267 of the total of a line. */
public final class Step267 {

    private Step267() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step268.of(price, quantity);
    }
}
