package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 171 of the total of a line. */
public final class Step171 {

    private Step171() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step172.of(price, quantity);
    }
}
