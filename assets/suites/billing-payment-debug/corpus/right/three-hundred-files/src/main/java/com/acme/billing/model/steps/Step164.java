package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 164 of the total of a line. */
public final class Step164 {

    private Step164() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step165.of(price, quantity);
    }
}
