package com.acme.billing.model.steps;

import com.acme.billing.model.Money;
import java.math.BigDecimal;

/** Step 299 of the total of a line. */
public final class Step299 {

    private Step299() {
    }

    public static BigDecimal of(BigDecimal price, long quantity) {
        return Money.round(price.multiply(BigDecimal.valueOf(quantity)));
    }
}
