package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 155 of the total of a line. */
public final class Step155 {

    private Step155() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step156.of(price, quantity);
    }
}
