package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.service.TaxService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

/** Computes taxes. Input {@code cases}: {@code amount*rate} or {@code rate:quantity*price,…}, separated by semicolons. */
public final class DeskB {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskB() {
    }

    public static void m01(Desk desk) throws Exception {
        TaxService service = new TaxService(new TaxRateRepository());
        desk.observe("a", () -> each(desk, service));
    }

    public static void m02(Desk desk) throws Exception {
        TaxService service = new TaxService(new TaxRateRepository());
        desk.observe("a", () -> {
            List<BigDecimal> taxes = new ArrayList<>();
            for (String bill : desk.text("cases").split(";")) {
                String[] parts = bill.split(":");
                String region = desk.text("region") + taxes.size();
                service.registerRate(new TaxRate(region, Wires.amount(parts[0])));
                List<LineItem> lines = new ArrayList<>();
                for (String line : parts[1].split(",")) {
                    String[] f = line.split("\\*");
                    lines.add(new LineItem("L", Long.parseLong(f[0]), Wires.amount(f[1])));
                }
                taxes.add(service.taxOn(lines, new Customer("C", "N", "c@example.org", region)));
            }
            return taxes;
        });
    }

    public static void m03(Desk desk) throws Exception {
        TaxService service = new TaxService(new TaxRateRepository());
        desk.observe("b", () -> service.calculateTax(desk.decimal("amount"), desk.text("region") + 0));
        desk.observe("a", () -> each(desk, service));
        desk.observe("b", () -> service.calculateTax(desk.decimal("amount"), desk.text("region")));
        desk.observe("c", () -> service.rateFor(desk.text("region") + 0));
    }

    private static List<BigDecimal> each(Desk desk, TaxService service) {
        List<BigDecimal> taxes = new ArrayList<>();
        for (String pair : desk.text("cases").split(";")) {
            String[] f = pair.split("\\*");
            String region = desk.text("region") + taxes.size();
            service.registerRate(new TaxRate(region, Wires.amount(f[1])));
            taxes.add(service.calculateTax(Wires.amount(f[0]), region));
        }
        desk.see("s", taxes.stream().map(BigDecimal::scale).distinct().toList());
        return taxes;
    }
}
