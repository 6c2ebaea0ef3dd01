package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 243 of the total of a line. */
public final class Step243 {

    private Step243() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step244.of(price, quantity);
    }
}
