package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Coupon;
import com.acme.billing.model.Money;
import java.math.BigDecimal;
import java.util.List;

/** Redeems coupons. */
public class DiscountService {

    /**
     * Returns what is left to pay of {@code subtotal} when all coupons have been redeemed, the first one first.
     *
     * @param coupons redeemed as they are: whether one may be used twice is for the caller to know
     */
    public BigDecimal applyCoupons(BigDecimal subtotal, List<Coupon> coupons) {
        if (subtotal.signum() < 0) {
            throw new BillingException("there is nothing to discount");
        }
        double left = subtotal.doubleValue();
        for (Coupon coupon : coupons) {
            double off = switch (coupon.kind()) {
                case PERCENT -> Math.round(left * coupon.value().doubleValue() / 100 * 100) / 100.0;
                case FIXED -> coupon.value().doubleValue();
            };
            left = Math.max(left - off, 0);
        }
        return Money.round(BigDecimal.valueOf(left));
    }
}
