package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 188 of the total of a line. */
public final class Step188 {

    private Step188() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step189.of(price, quantity);
    }
}
