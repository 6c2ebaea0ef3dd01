package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 230 of the total of a line. */
public final class Step230 {

    private Step230() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step231.of(price, quantity);
    }
}
