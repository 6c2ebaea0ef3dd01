package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 282 of the total of a line. */
public final class Step282 {

    private Step282() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step283.of(price, quantity);
    }
}
