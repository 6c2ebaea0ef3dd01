package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 201 of the total of a line. */
public final class Step201 {

    private Step201() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step202.of(price, quantity);
    }
}
