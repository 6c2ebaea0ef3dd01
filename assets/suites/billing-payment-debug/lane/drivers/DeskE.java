package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.WebhookEvent;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.service.WebhookService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.List;

/**
 * Takes messages in. Inputs: {@code total} of the invoices {@code inv} and {@code other}, which belong to the customer
 * {@code cus}; the messages are {@code evt} followed by a digit.
 */
public final class DeskE {
    private static final String GOOD = "payment.succeeded";
    private static final String BAD = "payment.failed";

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskE() {
    }

    public static void m01(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.take(1, GOOD, box.inv);
        box.close(box.inv);
        box.take(1, GOOD, box.inv);
        desk.observe("b", () -> box.invoices.require(box.inv).status());
        box.take(1, GOOD, box.inv);
        box.close(box.inv);
        box.take(1, GOOD, box.inv);
        box.close(box.inv);
    }

    public static void m02(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        String late = desk.text("late");
        box.take(1, GOOD, late);
        box.take(2, BAD, late);
        box.close(late);
        box.add(late);
        box.take(2, BAD, late);
        box.take(1, GOOD, late);
        box.close(late);
        box.take(1, GOOD, late);
        box.take(2, BAD, late);
        box.close(late);
    }

    public static void m03(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.take(1, GOOD, box.inv);
        box.close(box.inv);
        for (int i = 0; i < 3; i++) {
            box.start("A" + i, 1, GOOD, box.inv);
        }
        desk.join();
        box.close(box.inv);
        Letterbox.play(desk);
    }

    public static void m04(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.start("A", 1, GOOD, box.inv);
        box.start("B", 1, GOOD, box.inv);
        desk.join();
        box.close(box.inv);
        Letterbox.play(desk);
    }

    public static void m05(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        for (int i = 0; i < 4; i++) {
            box.start("A" + i, 1, GOOD, box.inv);
            box.start("B" + i, 2, BAD, box.other);
        }
        desk.join();
        box.close(box.inv);
        box.close(box.other);
        desk.observe("c", () -> box.service.handle(box.message(1, GOOD, box.inv, box.total)));
        desk.observe("c", () -> box.service.handle(box.message(2, BAD, box.other, box.total)));
        Letterbox.play(desk);
    }

    public static void m06(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.start("A", 1, GOOD, box.inv);
        box.start("B", 2, GOOD, box.other);
        box.start("C", 3, BAD, box.inv);
        box.start("D", 4, BAD, box.inv);
        desk.join();
        box.close(box.inv);
        box.close(box.other);
        Letterbox.play(desk);
    }

    public static void m07(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.take(1, GOOD, box.inv);
        box.close(box.inv);
        box.take(2, BAD, box.inv);
        box.take(3, BAD, box.inv);
        box.take(4, GOOD, box.inv);
        box.close(box.inv);
    }

    public static void m08(Desk desk) throws Exception {
        Letterbox box = new Letterbox(desk);
        box.take(1, BAD, box.inv);
        box.take(1, BAD, box.inv);
        box.take(2, BAD, box.inv);
        box.take(3, desk.text("type"), box.inv);
        box.take(8, GOOD + "." + desk.text("type"), box.inv);
        box.take(9, BAD + "." + desk.text("type"), box.inv);
        box.close(box.inv);
        box.take(4, GOOD, box.inv);
        box.take(4, GOOD, box.inv);
        box.close(box.inv);
        box.take(5, GOOD, box.inv);
        box.close(box.inv);
        desk.observe("a", () -> box.service.handle(box.message(6, GOOD, box.other, box.total.add(BigDecimal.ONE))));
        box.close(box.other);
        box.take(7, GOOD, box.other);
        box.take(1, BAD, box.inv);
        box.close(box.other);
    }

    /** A service with two open invoices. */
    private static final class Letterbox {
        final Desk desk;
        final Wires.Shelf invoices;
        final Wires.Drawer payments;
        final CustomerRepository customers = new CustomerRepository();
        final WebhookService service;
        final BigDecimal total;
        final String inv;
        final String other;

        Letterbox(Desk desk) {
            this.desk = desk;
            this.total = desk.decimal("total");
            this.inv = desk.text("inv");
            this.other = desk.text("other");
            this.invoices = new Wires.Shelf(desk);
            this.payments = new Wires.Drawer(desk);
            this.service = new WebhookService(invoices, payments, customers, Wires.notifier(desk));
            customers.save(new Customer(desk.text("cus"), "N", desk.text("cus") + "@example.org", "R"));
            add(inv);
            add(other);
            invoices.open();
        }

        void add(String id) {
            invoices.save(Invoice.open(id, desk.text("cus"), List.of(new LineItem("L", 1, total)), Money.ZERO));
        }

        /**
         * Plays rounds of three deliveries: {@code p} of one payment, {@code q} of payments of one invoice, {@code n}
         * of payments of different invoices, {@code b} of one failed attempt, {@code c} of attempts of one invoice.
         */
        static void play(Desk desk) {
            for (Rounds round : Rounds.of(desk)) {
                Letterbox box = new Letterbox(desk);
                box.add(box.other + "x");
                List<String> ids = List.of(box.inv, box.other, box.other + "x");
                boolean oneEvent = "pb".contains(round.kind);
                boolean oneInvoice = !round.kind.equals("n");
                String type = "bc".contains(round.kind) ? BAD : GOOD;
                round.play("a", number -> () -> box.service.handle(box.message(
                    oneEvent ? 1 : 1 + number, type, ids.get(oneInvoice ? 0 : number), box.total)));
                for (int i = 0; i < (oneInvoice ? 1 : 3); i++) {
                    String id = ids.get(i);
                    desk.observe(round.key("b"), () -> box.invoices.find(id).map(Invoice::status).orElse(null));
                    desk.observe(round.key("e"), () -> box.payments.findByInvoice(id).isPresent());
                }
            }
        }

        /** A message as it arrives, every time with texts of its own. */
        WebhookEvent message(int number, String type, String invoice, BigDecimal amount) {
            return new WebhookEvent(desk.text("evt") + number, new String(type), new String(invoice),
                new BigDecimal(amount.toPlainString()));
        }

        void take(int number, String type, String invoice) {
            desk.observe("a", () -> service.handle(message(number, type, invoice, total)));
        }

        void start(String actor, int number, String type, String invoice) {
            desk.actor(actor, "a", () -> service.handle(message(number, type, invoice, total)));
        }

        /** Reads the books. */
        void close(String invoice) {
            desk.observe("b", () -> invoices.find(invoice).map(Invoice::status).orElse(null));
            desk.observe("d", () -> payments.findByInvoice(invoice).orElse(null));
        }
    }
}
