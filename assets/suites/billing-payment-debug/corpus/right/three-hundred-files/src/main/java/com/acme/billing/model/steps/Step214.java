package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 214 of the total of a line. */
public final class Step214 {

    private Step214() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step215.of(price, quantity);
    }
}
