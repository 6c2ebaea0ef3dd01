package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 160 of the total of a line. */
public final class Step160 {

    private Step160() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step161.of(price, quantity);
    }
}
