package com.acme.billing.model.steps;

import java.math.BigDecimal;

/** Step 181 of the total of a line. */
public final class Step181 {

    private Step181() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Step182.of(price, quantity);
    }
}
