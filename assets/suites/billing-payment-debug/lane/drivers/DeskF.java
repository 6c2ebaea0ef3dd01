package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Coupon;
import com.acme.billing.service.DiscountService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.List;

/**
 * Redeems coupons. Input {@code cases}: {@code subtotal|code:kind and value,…}, or bills, separated by semicolons.
 */
public final class DeskF {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskF() {
    }

    public static void m01(Desk desk) throws Exception {
        DiscountService service = new DiscountService();
        for (String one : desk.text("cases").split(";")) {
            String[] f = one.split("\\|", -1);
            redeem(desk, service, Wires.amount(f[0]), Counter.coupons(f[1]));
        }
    }

    public static void m02(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        String[] bills = desk.text("cases").split(";");
        for (int i = 0; i < bills.length; i++) {
            counter.bill(i, bills[i]);
        }
    }

    public static void m03(Desk desk) throws Exception {
        DiscountService service = new DiscountService();
        BigDecimal subtotal = desk.decimal("subtotal");
        String code = desk.text("code");
        redeem(desk, service, subtotal, List.of());
        for (String unusable : desk.text("values").split(",")) {
            desk.observe("b", () -> Counter.coupon(code, unusable));
        }
        for (String unusable : desk.text("codes").split(",", -1)) {
            desk.observe("b", () -> Counter.coupon(unusable, desk.text("usable")));
        }
        List<Coupon> coupons = List.of(Counter.coupon(code, desk.text("usable")));
        redeem(desk, service, subtotal.negate(), coupons);
        redeem(desk, service, subtotal.negate(), List.of());
        redeem(desk, service, BigDecimal.ZERO, coupons);
        redeem(desk, service, subtotal, coupons);
    }

    private static void redeem(Desk desk, DiscountService service, BigDecimal subtotal, List<Coupon> coupons) {
        desk.observe("a", () -> {
            BigDecimal left = service.applyCoupons(subtotal, coupons);
            desk.see("s", left.scale());
            return left;
        });
    }
}
