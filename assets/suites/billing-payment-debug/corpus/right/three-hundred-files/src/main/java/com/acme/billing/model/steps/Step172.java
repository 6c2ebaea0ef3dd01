package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 172 of the total of a line. */
public final class Step172 {

    private Step172() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step173.of(price, quantity);
    }
}
