package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 223 of the total of a line. */
public final class Step223 {

    private Step223() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step224.of(price, quantity);
    }
}
