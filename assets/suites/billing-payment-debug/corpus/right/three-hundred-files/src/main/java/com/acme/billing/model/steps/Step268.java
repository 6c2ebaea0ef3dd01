package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 268 of the total of a line. */
public final class Step268 {

    private Step268() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step269.of(price, quantity);
    }
}
