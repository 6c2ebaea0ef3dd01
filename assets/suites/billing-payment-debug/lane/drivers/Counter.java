package drivers;

import com.acme.billing.model.Coupon;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.service.DiscountService;
import com.acme.billing.service.InvoiceService;
import com.acme.billing.service.TaxService;
import gradekeeper.kit.Desk;
import java.util.ArrayList;
import java.util.List;

/**
 * A service that writes bills. A bill is written {@code rate|quantity*price,…|code:kind and value,…}; a kind is
 * {@code P} or {@code F}. Customers and regions are named after the inputs {@code cus} and {@code region}.
 */
final class Counter {

    final InvoiceRepository invoices = new InvoiceRepository();
    final InvoiceService service;
    private final Desk desk;
    private final CustomerRepository customers = new CustomerRepository();
    private final TaxService taxes = new TaxService(new TaxRateRepository());

    Counter(Desk desk) {
        this.desk = desk;
        this.service = new InvoiceService(invoices, customers, taxes, new DiscountService());
    }

    static List<Coupon> coupons(String text) {
        List<Coupon> coupons = new ArrayList<>();
        for (String one : parts(text)) {
            String[] f = one.split(":");
            coupons.add(coupon(f[0], f[1]));
        }
        return List.copyOf(coupons);
    }

    static Coupon coupon(String code, String kindAndValue) {
        return new Coupon(code, kindAndValue.charAt(0) == 'P' ? Coupon.Kind.PERCENT : Coupon.Kind.FIXED,
            Wires.amount(kindAndValue.substring(1)));
    }

    static List<LineItem> lines(String text) {
        List<LineItem> lines = new ArrayList<>();
        for (String one : parts(text)) {
            String[] f = one.split("\\*");
            lines.add(new LineItem("L", Long.parseLong(f[0]), Wires.amount(f[1])));
        }
        return List.copyOf(lines);
    }

    private static String[] parts(String text) {
        return text.isEmpty() ? new String[0] : text.split(",");
    }

    /** Bills customer number {@code who}, who lives in a region of that number since the first bill. */
    void bill(int who, String bill) {
        String[] f = bill.split("\\|", -1);
        if (customers.find(desk.text("cus") + who).isEmpty()) {
            arrive(who, f[0]);
        }
        bill(desk.text("cus") + who, lines(f[1]), coupons(f[2]));
    }

    void arrive(int who, String rate) {
        String customer = desk.text("cus") + who;
        String region = desk.text("region") + who;
        taxes.registerRate(new TaxRate(region, Wires.amount(rate)));
        customers.save(new Customer(customer, "N", customer + "@example.org", region));
    }

    void bill(String customer, List<LineItem> lines, List<Coupon> coupons) {
        desk.observe("a", () -> {
            Invoice invoice = service.generateInvoice(customer, lines, coupons);
            desk.see("b", invoice.discount());
            desk.see("c", invoice.tax());
            desk.see("d", invoice.id());
            desk.see("s", List.of(invoice.discount().scale(), invoice.tax().scale(), invoice.total().scale()));
            desk.observe("e", () -> invoices.require(invoice.id()).total());
            return invoice.total();
        });
    }
}
