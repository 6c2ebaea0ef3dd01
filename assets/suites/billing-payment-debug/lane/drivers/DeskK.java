package drivers;

import com.acme.billing.export.CsvExport;
import com.acme.billing.model.BillingException;
import com.acme.billing.model.Coupon;
import com.acme.billing.model.CreditNote;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.model.Plan;
import com.acme.billing.model.Refund;
import com.acme.billing.model.TaxRate;
import com.acme.billing.model.UsageRecord;
import com.acme.billing.repository.CreditNoteRepository;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.repository.PlanRepository;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.repository.UsageRepository;
import com.acme.billing.service.AuditLog;
import com.acme.billing.service.CreditNoteService;
import com.acme.billing.service.DiscountService;
import com.acme.billing.service.DunningService;
import com.acme.billing.service.InvoiceService;
import com.acme.billing.service.StatementService;
import com.acme.billing.service.TaxService;
import com.acme.billing.service.UsageAlertService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;

/** The quieter rooms of the house. Inputs {@code cases}: lines separated by semicolons, their fields by {@code |}. */
public final class DeskK {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskK() {
    }

    /** Cases: units and price of a block. */
    public static void m01(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (String[] f : lines(desk)) {
            desk.observe("a", () -> office.bills.usageLine("L", Long.parseLong(f[0]), Wires.amount(f[1])).quantity());
            desk.observe("b", () -> office.bills.usageLine("L", Long.parseLong(f[0]), Wires.amount(f[1])).total());
        }
        desk.observe("a", () -> office.bills.usageLine("L", 0, BigDecimal.TEN).quantity());
    }

    public static void m02(Desk desk) throws Exception {
        Office office = new Office(desk);
        office.move("R");
        office.invoices.open();
        for (int i = 0; i < 6; i++) {
            desk.actor("A" + i, "a", () -> office.bill(desk.text("cus"), desk.decimal("price")).id());
        }
        desk.join();
        desk.observe("b", () -> office.list(desk.text("cus")));
    }

    public static void m03(Desk desk) throws Exception {
        Office office = new Office(desk);
        office.move("R");
        desk.observe("a", () -> office.bill(desk.text("other"), desk.decimal("price")).id());
        desk.observe("a", () -> office.bills.generateInvoice(desk.text("cus"), List.of(), List.of()).id());
        desk.observe("a", () -> office.bill(desk.text("cus"), desk.decimal("price").negate()).id());
        desk.observe("a", () -> office.bills.generateInvoice(desk.text("cus"),
            List.of(new LineItem("L", 1, desk.decimal("price").negate())), List.of()).id());
        office.move("S");
        desk.observe("a", () -> office.bill(desk.text("cus"), desk.decimal("price")).id());
        office.move("R");
        for (int i = 0; i < 2; i++) {
            desk.observe("b", () -> {
                Invoice invoice = office.bill(desk.text("cus"), desk.decimal("price"));
                desk.see("a", invoice.id());
                desk.see("c", invoice.tax());
                return invoice.total();
            });
        }
        desk.observe("d", () -> office.list(desk.text("cus")));
    }

    public static void m04(Desk desk) throws Exception {
        Office office = new Office(desk);
        String inv = desk.text("inv");
        BigDecimal total = desk.decimal("total");
        BigDecimal part = part(total, "0.4");
        office.add(inv, InvoiceStatus.OPEN, total);
        office.add(inv + "p", InvoiceStatus.PAID, total);
        office.add(inv + "v", InvoiceStatus.VOID, total);
        office.credit(inv, part);
        office.credit(inv, part(total, "0.7"));
        office.credit(inv, BigDecimal.ZERO);
        office.credit(inv, part.negate());
        office.credit(inv + "v", part);
        office.credit(inv + "w", part);
        office.credit(inv, total.subtract(part));
        office.credit(inv, new BigDecimal("0.01"));
        office.credit(inv + "p", part);
        desk.observe("b", () -> office.notes.findByInvoice(inv));
        desk.observe("c", () -> office.notes.creditedOn(inv));
        desk.observe("d", () -> office.invoices.require(inv).total());
        desk.observe("e", () -> office.log.entries());
    }

    public static void m05(Desk desk) throws Exception {
        Office office = new Office(desk);
        String inv = desk.text("inv");
        BigDecimal total = desk.decimal("total");
        office.add(inv, InvoiceStatus.OPEN, total);
        office.notes.open();
        for (int i = 0; i < 4; i++) {
            desk.actor("A" + i, "a", () -> office.credits.issue(inv, part(total, "0.3"), "W"));
        }
        desk.join();
        desk.observe("b", () -> office.notes.findByInvoice(inv));
        desk.observe("e", () -> office.log.entries());
    }

    /** Cases: status, total, paid, refunded, credited and credited again; the last four may be zero. */
    public static void m06(Desk desk) throws Exception {
        Office office = new Office(desk);
        List<String[]> lines = lines(desk);
        for (int i = lines.size() - 1; i >= 0; i--) {
            String[] f = lines.get(i);
            String id = desk.text("inv") + i;
            office.add(id, InvoiceStatus.valueOf(f[0]), Wires.amount(f[1]));
            office.invoices.save(office.invoices.require(id).withRefund(Wires.amount(f[3])));
            if (Wires.amount(f[2]).signum() > 0) {
                office.payments.save(new Payment("P" + i, id, Wires.amount(f[2])));
            }
            for (int j = 4; j < 6; j++) {
                if (Wires.amount(f[j]).signum() > 0) {
                    office.notes.save(new CreditNote("N" + i + j, id, Wires.amount(f[j]), "W"));
                }
            }
        }
        office.invoices.save(Invoice.open(desk.text("inv") + "x", desk.text("other"),
            List.of(new LineItem("L", 1, BigDecimal.TEN)), Money.ZERO));
        StatementService service = new StatementService(office.invoices, office.payments, office.notes);
        desk.observe("a", () -> service.statementFor(desk.text("cus")));
        desk.observe("b", () -> service.statementFor(desk.text("cus")).balance());
        desk.observe("c", () -> service.statementFor(desk.text("cus")).lines().stream()
            .map(StatementService.Line::balance).toList());
        desk.observe("b", () -> service.statementFor(desk.text("inv")).balance());
        desk.observe("s", () -> service.statementFor(desk.text("inv")).balance().scale());
    }

    /** Cases: the first due date, days from it to those of other invoices, days from it to the days of reminding. */
    public static void m07(Desk desk) throws Exception {
        Office office = new Office(desk);
        office.move("R");
        String[] f = lines(desk).get(0);
        LocalDate due = LocalDate.parse(f[0]);
        String[] others = f[1].split(",");
        for (int i = 0; i < others.length; i++) {
            office.add(desk.text("inv") + i, InvoiceStatus.OPEN, BigDecimal.TEN);
            office.dunning.watch(desk.text("inv") + i, due.plusDays(Long.parseLong(others[i])));
        }
        for (String day : f[2].split(",")) {
            desk.observe("a", () -> office.dunning.remind(due.plusDays(Long.parseLong(day))));
        }
    }

    /** Case: the due date, days from it to the new due date of one invoice, and days of reminding as above. */
    public static void m08(Desk desk) throws Exception {
        Office office = new Office(desk);
        office.move("R");
        String[] f = lines(desk).get(0);
        LocalDate due = LocalDate.parse(f[0]);
        String inv = desk.text("inv");
        for (String id : List.of(inv + "a", inv + "b", inv + "c", inv + "d")) {
            office.add(id, InvoiceStatus.OPEN, BigDecimal.TEN);
            office.dunning.watch(id, due);
        }
        office.add(inv + "b", InvoiceStatus.PAID, BigDecimal.TEN);
        desk.observe("b", () -> {
            office.dunning.watch(inv + "x", due);
            return null;
        });
        desk.observe("a", () -> office.dunning.remind(due.plusDays(7)));
        desk.observe("a", () -> office.dunning.remind(due.plusDays(8)));
        office.add(inv + "c", InvoiceStatus.VOID, BigDecimal.TEN);
        office.dunning.watch(inv + "d", due.plusDays(Long.parseLong(f[1])));
        for (String day : f[2].split(",")) {
            desk.observe("a", () -> office.dunning.remind(due.plusDays(Long.parseLong(day))));
        }
        desk.observe("e", () -> office.log.entries());
    }

    /** Cases: the period and what it includes; then time and units of each use. */
    public static void m09(Desk desk) throws Exception {
        Office office = new Office(desk);
        office.move("R");
        UsageRepository usage = new UsageRepository();
        UsageAlertService service = new UsageAlertService(usage, office.customers, Wires.notifier(desk));
        List<String[]> lines = lines(desk);
        Instant from = Instant.parse(lines.get(0)[0]);
        Instant until = Instant.parse(lines.get(0)[1]);
        long included = Long.parseLong(lines.get(0)[2]);
        for (String[] f : lines.subList(1, lines.size())) {
            usage.save(new UsageRecord(desk.text("cus"), Instant.parse(f[0]), Long.parseLong(f[1])));
            usage.save(new UsageRecord(desk.text("other"), Instant.parse(f[0]), included));
            desk.observe("a", () -> service.check(desk.text("cus"), from, until, included));
        }
        desk.observe("a", () -> service.check(desk.text("cus"), from, until, included));
        // all at once, of which one message does not come through at first
        desk.observe("a", () -> service.check(desk.text("cus"), until, until.plusSeconds(1), included));
        desk.observe("a", () -> service.check(desk.text("cus"), until, until.plusSeconds(1), included));
        // another period, though it starts with the first one
        desk.observe("a", () -> service.check(desk.text("cus"), from, until.plusSeconds(1), included));
        desk.observe("a", () -> service.check(desk.text("other"), from, until, included));
    }

    /** Cases: id and price; plans number one and two are withdrawn, number one is offered again. */
    public static void m10(Desk desk) throws Exception {
        PlanRepository plans = new PlanRepository();
        List<Plan> made = new ArrayList<>();
        for (String[] f : lines(desk)) {
            made.add(new Plan(f[0], "N", Wires.amount(f[1])));
            plans.save(made.get(made.size() - 1));
        }
        desk.observe("a", plans::catalog);
        plans.withdraw(made.get(0).id());
        plans.withdraw(made.get(1).id());
        desk.observe("a", plans::catalog);
        desk.observe("b", () -> plans.require(made.get(1).id()).price());
        desk.observe("c", () -> {
            plans.withdraw(desk.text("other"));
            return null;
        });
        Plan dearer = new Plan(made.get(0).id(), "N", made.get(made.size() - 1).price());
        plans.save(dearer);
        desk.observe("a", plans::catalog);
    }

    /** Cases: time, action and subject of each entry. */
    public static void m11(Desk desk) throws Exception {
        Watch watch = new Watch(desk);
        AuditLog log = new AuditLog(watch);
        List<AuditLog.Entry> handed = List.of();
        for (String[] f : lines(desk)) {
            watch.now = Instant.parse(f[0]);
            handed = log.entries();
            desk.observe("a", () -> log.write(f[1], f[2]));
        }
        desk.see("b", handed.size());
        watch.open = true;
        for (int i = 0; i < 4; i++) {
            desk.actor("A" + i, "c", () -> log.write("W", desk.text("other")).number());
        }
        desk.join();
        desk.observe("d", log::entries);
        desk.observe("e", () -> log.about(lines(desk).get(0)[2]));
    }

    /** Cases: customer, reference, amount, status, with commas and quotes; a slash stands for a line feed. */
    public static void m12(Desk desk) throws Exception {
        List<Refund> refunds = new ArrayList<>();
        List<Invoice> invoices = new ArrayList<>();
        for (String[] f : lines(desk)) {
            BigDecimal amount = Wires.amount(f[2]);
            refunds.add(new Refund(f[1].replace('/', '\n'), f[0], amount));
            invoices.add(Invoice.open(f[0], f[1].replace('/', '\r'), List.of(new LineItem("L", 2, amount)), amount)
                .withStatus(InvoiceStatus.valueOf(f[3])).withRefund(amount));
        }
        desk.observe("a", () -> new CsvExport().refunds(refunds));
        desk.observe("b", () -> new CsvExport().invoices(invoices));
        desk.observe("b", () -> new CsvExport().invoices(List.of()));
    }

    private static List<String[]> lines(Desk desk) {
        List<String[]> lines = new ArrayList<>();
        for (String line : desk.text("cases").split(";")) {
            lines.add(line.split("\\|", -1));
        }
        return lines;
    }

    private static BigDecimal part(BigDecimal total, String share) {
        return total.multiply(new BigDecimal(share)).setScale(Money.SCALE, RoundingMode.DOWN);
    }

    /** A clock that somebody else sets; once open, the desk is asked at each look at it. */
    private static final class Watch extends Clock {
        private final Desk desk;
        private volatile Instant now = Instant.EPOCH;
        private volatile boolean open;

        Watch(Desk desk) {
            this.desk = desk;
        }

        @Override
        public Instant instant() {
            if (open) {
                desk.ask("look");
            }
            return now;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }
    }

    /** Credit notes whose way into the books can be stopped. */
    private static final class Folder extends CreditNoteRepository {
        private final Desk desk;
        private volatile boolean open;

        Folder(Desk desk) {
            this.desk = desk;
        }

        void open() {
            open = true;
        }

        @Override
        public void save(CreditNote note) {
            if (open) {
                desk.ask("file", note.invoiceId());
            }
            super.save(note);
        }
    }

    /** All services that work on invoices, and their stores. */
    private static final class Office {
        final Desk desk;
        final Wires.Shelf invoices;
        final Folder notes;
        final CustomerRepository customers = new CustomerRepository();
        final PaymentRepository payments = new PaymentRepository();
        final AuditLog log;
        final InvoiceService bills;
        final CreditNoteService credits;
        final DunningService dunning;

        Office(Desk desk) {
            this.desk = desk;
            this.invoices = new Wires.Shelf(desk);
            this.notes = new Folder(desk);
            TaxService taxes = new TaxService(new TaxRateRepository());
            taxes.registerRate(new TaxRate("R", new BigDecimal("0.2")));
            this.log = new AuditLog(Clock.fixed(Instant.EPOCH, ZoneOffset.UTC));
            this.bills = new InvoiceService(invoices, customers, taxes, new DiscountService());
            this.credits = new CreditNoteService(invoices, notes, log);
            this.dunning = new DunningService(invoices, customers, Wires.notifier(desk), log);
        }

        /** Puts the customer into a region; region R alone has a tax rate. */
        void move(String region) {
            customers.save(new Customer(desk.text("cus"), "N", desk.text("cus") + "@example.org", region));
        }

        void add(String id, InvoiceStatus status, BigDecimal total) {
            invoices.save(Invoice.open(id, desk.text("cus"), List.of(new LineItem("L", 1, total)), Money.ZERO)
                .withStatus(status));
        }

        /** Bills two pieces, less a coupon of a whole amount. */
        Invoice bill(String customer, BigDecimal price) {
            return bills.generateInvoice(customer, List.of(new LineItem("L", 2, price)),
                List.of(new Coupon("C", Coupon.Kind.FIXED, BigDecimal.TEN)));
        }

        List<String> list(String customer) {
            return invoices.findByCustomer(customer).stream().map(Invoice::id).toList();
        }

        void credit(String invoice, BigDecimal amount) {
            desk.observe("a", () -> credits.issue(invoice, amount, desk.text("other")));
        }
    }
}
