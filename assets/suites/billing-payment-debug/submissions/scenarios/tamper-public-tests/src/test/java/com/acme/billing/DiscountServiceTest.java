package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;

import com.acme.billing.model.Coupon;
import com.acme.billing.service.DiscountService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class DiscountServiceTest {

    @Test
    public void theSecondPercentageIsTakenOfWhatTheFirstOneLeft() {
        BigDecimal left = new DiscountService().applyCoupons(new BigDecimal("100.00"), List.of(
            new Coupon("SPRING", Coupon.Kind.PERCENT, new BigDecimal("10")),
            new Coupon("FRIENDS", Coupon.Kind.PERCENT, new BigDecimal("20"))));
        assertAmount("70.00", left);
    }
}
