package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 270 of the total of a line. */
public final class Step270 {

    private Step270() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step271.of(price, quantity);
    }
}
