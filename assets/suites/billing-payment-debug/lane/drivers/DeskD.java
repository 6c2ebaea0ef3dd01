package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.service.PaymentService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.List;

/**
 * Takes money. Inputs: {@code total} of the invoices {@code inv} and {@code other}, which belong to the customer
 * {@code cus}; the keys {@code key} and {@code fresh}.
 */
public final class DeskD {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskD() {
    }

    public static void m01(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        counter.start("A", counter.inv, counter.key);
        counter.start("B", counter.inv, counter.key);
        desk.join();
        counter.close(counter.inv);
        Counter.play(desk);
    }

    public static void m02(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        for (int i = 0; i < 4; i++) {
            counter.start("A" + i, counter.inv, counter.key);
            counter.start("B" + i, counter.other, counter.fresh);
        }
        desk.join();
        counter.close(counter.inv);
        counter.close(counter.other);
        Counter.play(desk);
    }

    /** Either invoice may be the one that is paid, so nothing that is observed names it. */
    public static void m03(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        for (String invoice : List.of(counter.inv, counter.other)) {
            desk.actor(invoice, "c", () -> counter.charge(invoice, counter.key).reference());
        }
        desk.join();
        for (String invoice : List.of(counter.inv, counter.other)) {
            desk.observe("b", () -> counter.invoices.require(invoice).status());
            desk.observe("e", () -> counter.payments.findByInvoice(invoice).map(Payment::reference).orElse(null));
            desk.observe("c", () -> counter.charge(invoice, counter.key).reference());
        }
        Counter.play(desk);
    }

    public static void m04(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        counter.ask(counter.inv, counter.key);
        counter.ask(counter.inv, counter.key);
        counter.ask(counter.other, counter.fresh);
        counter.ask(counter.inv, counter.key);
        counter.close(counter.inv);
        counter.ask(counter.other, counter.fresh);
        counter.close(counter.other);
    }

    public static void m05(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        counter.ask(counter.inv, counter.key);
        counter.close(counter.inv);
        counter.ask(counter.inv, counter.key);
        counter.close(counter.inv);
        counter.ask(counter.inv, counter.key);
        counter.close(counter.inv);
        counter.ask(counter.inv, counter.key);
    }

    public static void m06(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        counter.start("A", counter.inv, counter.key);
        counter.start("B", counter.inv, counter.key);
        desk.join();
        counter.ask(counter.inv, counter.key);
        counter.close(counter.inv);
        Counter.play(desk);
    }

    public static void m07(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        counter.start("A", counter.inv, counter.key);
        counter.start("B", counter.other, counter.fresh);
        desk.join();
        counter.close(counter.inv);
        counter.close(counter.other);
        Counter.play(desk);
    }

    public static void m08(Desk desk) throws Exception {
        Counter counter = new Counter(desk);
        String gone = desk.text("gone");
        counter.ask(gone, counter.key);
        counter.add(gone, InvoiceStatus.VOID, counter.total);
        counter.ask(gone, counter.key);
        counter.close(gone);
        counter.add(gone, InvoiceStatus.OPEN, Money.ZERO);
        counter.ask(gone, counter.key);
        counter.close(gone);
        counter.ask(counter.inv, " ");
        desk.observe("a", () -> counter.service.charge(counter.inv, null));
        counter.close(counter.inv);
        counter.ask(counter.inv, counter.key);
        counter.ask(counter.other, counter.key);
        counter.ask(counter.inv, counter.fresh);
        counter.close(counter.inv);
        counter.close(counter.other);
        counter.ask(counter.other, counter.fresh);
        counter.close(counter.other);
    }

    /** A service with two open invoices. */
    private static final class Counter {
        final Desk desk;
        final Wires.Shelf invoices;
        final Wires.Drawer payments;
        final PaymentService service;
        final BigDecimal total;
        final String inv;
        final String other;
        final String key;
        final String fresh;

        Counter(Desk desk) {
            this.desk = desk;
            this.total = desk.decimal("total");
            this.inv = desk.text("inv");
            this.other = desk.text("other");
            this.key = desk.text("key");
            this.fresh = desk.text("fresh");
            this.invoices = new Wires.Shelf(desk);
            this.payments = new Wires.Drawer(desk);
            this.service = new PaymentService(invoices, payments, Wires.gateway(desk));
            add(inv, InvoiceStatus.OPEN, total);
            add(other, InvoiceStatus.OPEN, total);
            invoices.open();
        }

        void add(String id, InvoiceStatus status, BigDecimal amount) {
            invoices.save(Invoice.open(id, desk.text("cus"), List.of(new LineItem("L", 1, amount)), Money.ZERO)
                .withStatus(status));
        }

        /**
         * Plays rounds of three callers: {@code k} with one key and one invoice, {@code i} with keys of their own and
         * one invoice, {@code j} with one key and invoices of their own, {@code n} with nothing in common.
         */
        static void play(Desk desk) {
            for (Rounds round : Rounds.of(desk)) {
                Counter counter = new Counter(desk);
                counter.add(counter.other + "x", InvoiceStatus.OPEN, counter.total);
                // Two of them have one hash code.
                List<String> keys = List.of(counter.key, counter.fresh + "Aa", counter.fresh + "BB");
                List<String> ids = List.of(counter.inv, counter.other, counter.other + "x");
                boolean oneKey = "kj".contains(round.kind);
                boolean oneInvoice = "ki".contains(round.kind);
                round.play("a", number -> () -> counter.charge(
                    ids.get(oneInvoice ? 0 : number), keys.get(oneKey ? 0 : number)).reference());
                for (int i = 0; i < (oneInvoice ? 1 : 3); i++) {
                    String id = ids.get(i);
                    desk.observe(round.key("b"), () -> counter.invoices.require(id).status());
                    desk.observe(round.key("e"),
                        () -> counter.payments.findByInvoice(id).map(Payment::reference).orElse(null));
                }
            }
        }

        /** Every request brings its own copy of a name, as requests that are read from a wire do. */
        Payment charge(String invoice, String name) {
            return service.charge(new String(invoice), new String(name));
        }

        void ask(String invoice, String name) {
            desk.observe("a", () -> charge(invoice, name));
        }

        void start(String actor, String invoice, String name) {
            desk.actor(actor, "a", () -> charge(invoice, name));
        }

        /** Reads the books. */
        void close(String invoice) {
            desk.observe("b", () -> invoices.require(invoice).status());
            desk.observe("d", () -> payments.findByInvoice(invoice).orElse(null));
        }
    }
}
