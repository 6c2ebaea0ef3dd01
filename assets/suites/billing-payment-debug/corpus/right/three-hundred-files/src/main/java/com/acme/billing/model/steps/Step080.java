package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 80 of the total of a line. */
public final class Step080 {

    private Step080() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step081.of(price, quantity);
    }
}
