package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Coupon;
import com.acme.billing.model.LineItem;
import gradekeeper.kit.Desk;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Writes bills with coupons. Input {@code cases}: bills, separated by semicolons. */
public final class DeskG {

    static {
        Desk.observeAs(BillingException.class);
        // what a code means does not depend on where the process runs
        Locale.setDefault(new Locale("tr", "TR"));
    }

    private DeskG() {
    }

    public static void m01(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        String[] bills = desk.text("cases").split(";");
        for (int i = 0; i < bills.length; i++) {
            counter.bill(i, bills[i]);
        }
    }

    public static void m02(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        for (String bill : desk.text("cases").split(";")) {
            counter.bill(0, bill);
        }
    }

    public static void m03(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        String[] f = desk.text("cases").split("\\|", -1);
        String customer = desk.text("cus") + 0;
        List<LineItem> lines = Counter.lines(f[1]);
        List<Coupon> coupons = Counter.coupons(f[2]);
        counter.arrive(0, f[0]);
        counter.bill(desk.text("other"), lines, coupons);
        counter.bill(customer, List.of(), coupons);
        counter.bill(customer, List.of(new LineItem("L", 1, desk.decimal("credit"))), coupons);
        counter.bill(customer, List.of(new LineItem("L", 1, desk.decimal("credit"))), List.of());
        List<Coupon> entered = new ArrayList<>(coupons);
        counter.bill(customer, lines, entered);
        for (Coupon coupon : entered) {
            desk.observe("f", coupon::code);
        }
    }
}
