package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Cents;
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
        Cents left = Cents.nearest(subtotal);
        for (Coupon coupon : coupons) {
            left = left.minusAtMostAll(Cents.nearest(coupon.reductionOf(left.toDecimal())));
        }
        return left.toDecimal();
    }
}
