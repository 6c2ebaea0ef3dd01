package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.LineItem;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;

/** Prices lines. Input {@code cases}: {@code quantity*price}, separated by commas, or bills, by semicolons. */
public final class DeskH {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskH() {
    }

    public static void m01(Desk desk) throws Exception {
        for (String one : desk.text("cases").split(",")) {
            String[] f = one.split("\\*");
            desk.observe("a", () -> {
                LineItem line = new LineItem("L", Long.parseLong(f[0]), Wires.amount(f[1]));
                BigDecimal total = line.total();
                desk.see("b", line.unitPrice());
                desk.see("s", total.scale());
                return total;
            });
        }
    }

    public static void m02(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        String[] bills = desk.text("cases").split(";");
        for (int i = 0; i < bills.length; i++) {
            counter.bill(i, bills[i]);
        }
    }
}
