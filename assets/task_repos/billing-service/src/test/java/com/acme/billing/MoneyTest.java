package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Money;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;

public final class MoneyTest {

    @Test
    public void roundsHalfCentsAwayFromZero() {
        assertAmount("0.13", Money.round(new BigDecimal("0.125")));
        assertAmount("-0.13", Money.round(new BigDecimal("-0.125")));
    }

    @Test
    public void refusesAmountsThatAreNotPositive() {
        assertThrows(BillingException.class, () -> Money.requirePositive(BigDecimal.ZERO, "it"));
        assertThrows(BillingException.class, () -> Money.requirePositive(null, "it"));
    }
}
