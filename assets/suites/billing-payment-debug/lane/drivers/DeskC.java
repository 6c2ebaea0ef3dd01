package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.model.Refund;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.repository.RefundRepository;
import com.acme.billing.service.RefundService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.concurrent.Callable;

/** Gives money back. Inputs: {@code total} of the invoice {@code inv}, paid by the payment {@code pay}. */
public final class DeskC {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskC() {
    }

    public static void m01(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.start("A2", desk.text("inv"), till.part("0.4"));
        till.together(till.part("0.6"), 2);
        till.close();
        for (Rounds round : Rounds.of(desk)) {
            Till next = new Till(desk);
            round.play("a", number -> next.request(next.inv(), next.part(number == 0 ? "0.4" : "0.6")));
            next.close(round);
        }
    }

    public static void m02(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.3"), 2);
        till.close();
        Till.play(desk, "0.3", true);
    }

    public static void m03(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.25"), 8);
        till.close();
        for (Rounds round : Rounds.of(desk)) {
            // Four quarters fit, and one of three larger shares.
            Till next = new Till(desk);
            if (round.kind.equals("o")) {
                round.play("a", number -> next.request(next.inv(), next.part("0.7")));
            } else {
                next.ask(next.part("0.25"));
                round.play("a", number -> next.request(next.inv(), next.part("0.25")));
                next.ask(next.part("0.25"));
            }
            next.close(round);
        }
    }

    public static void m04(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.4"), 2);
        Till.play(desk, "0.3", false);
    }

    public static void m05(Desk desk) throws Exception {
        Till till = new Till(desk);
        BigDecimal part = till.part("0.3");
        till.ask(part);
        till.ask(part);
        till.close();
        till.ask(till.total.subtract(part).subtract(part));
        till.close();
        till.ask(new BigDecimal("0.01"));
        till.close();
    }

    public static void m06(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.ask(till.total.add(new BigDecimal("0.01")));
        till.close();
        till.ask(till.part("0.7"));
        till.ask(till.part("0.7"));
        till.close();
    }

    public static void m07(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.ask(till.total);
        till.close();
        till.ask(till.total);
        till.close();
    }

    public static void m08(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.4"), 2);
        till.ask(till.part("0.4"));
        till.close();
        Till.play(desk, "0.3", true);
    }

    public static void m09(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.ask(BigDecimal.ZERO);
        till.ask(till.total.negate());
        till.ask(new BigDecimal("0.004"));
        till.ask(till.total.add(new BigDecimal("0.005")));
        till.askFor(desk.text("other"), till.total);
        till.add(desk.text("open"), InvoiceStatus.OPEN);
        till.askFor(desk.text("open"), till.total);
        till.close();
        // half a cent counts as a whole one: this leaves one cent, and that takes it
        till.ask(till.total.subtract(new BigDecimal("0.015")));
        till.close();
        till.ask(new BigDecimal("0.005"));
        till.close();
    }

    public static void m10(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.add(desk.text("other"), InvoiceStatus.PAID);
        till.start("A", desk.text("inv"), till.total);
        till.start("B", desk.text("other"), till.total);
        desk.join();
        till.close();
        desk.observe("c", () -> till.invoices.require(desk.text("other")).refunded());
        for (Rounds round : Rounds.of(desk)) {
            Till next = new Till(desk);
            next.add(desk.text("other"), InvoiceStatus.PAID);
            next.add(desk.text("other") + "x", InvoiceStatus.PAID);
            List<String> ids = List.of(desk.text("inv"), desk.text("other"), desk.text("other") + "x");
            round.play("a", number -> next.request(ids.get(number), next.total));
            for (String id : ids) {
                desk.observe(round.key("c"), () -> next.invoices.require(id).refunded());
            }
        }
    }

    /** A service with one paid invoice. */
    private static final class Till {
        final Desk desk;
        final Wires.Shelf invoices;
        final PaymentRepository payments = new PaymentRepository();
        final RefundRepository refunds = new RefundRepository();
        final RefundService service;
        final BigDecimal total;

        Till(Desk desk) {
            this.desk = desk;
            this.total = desk.decimal("total");
            this.invoices = new Wires.Shelf(desk);
            this.service = new RefundService(invoices, payments, refunds, Wires.gateway(desk));
            add(desk.text("inv"), InvoiceStatus.PAID);
            payments.save(new Payment(desk.text("pay"), desk.text("inv"), total));
            invoices.open();
        }

        void add(String id, InvoiceStatus status) {
            invoices.save(Invoice.open(id, "C", List.of(new LineItem("L", 1, total)), Money.ZERO)
                .withStatus(status));
            if (status == InvoiceStatus.PAID) {
                payments.save(new Payment(desk.text("pay") + "x", id, total));
            }
        }

        BigDecimal part(String share) {
            return total.multiply(new BigDecimal(share)).setScale(Money.SCALE, RoundingMode.DOWN);
        }

        void ask(BigDecimal amount) {
            askFor(desk.text("inv"), amount);
        }

        void askFor(String invoice, BigDecimal amount) {
            desk.observe("a", request(invoice, amount));
        }

        void start(String name, String invoice, BigDecimal amount) {
            desk.actor(name, "a", request(invoice, amount));
        }

        /** Every request brings copies of its own, as requests that are read from a wire do. */
        Callable<Refund> request(String invoice, BigDecimal amount) {
            String id = new String(invoice);
            BigDecimal asked = new BigDecimal(amount.toPlainString());
            return () -> service.issueRefund(id, asked);
        }

        String inv() {
            return desk.text("inv");
        }

        /** Plays rounds of callers who all ask for one share. */
        static void play(Desk desk, String share, boolean read) {
            for (Rounds round : Rounds.of(desk)) {
                Till till = new Till(desk);
                round.play("a", number -> till.request(till.inv(), till.part(share)));
                if (read) {
                    till.close(round);
                }
            }
        }

        void together(BigDecimal amount, int count) throws Exception {
            for (int i = 0; i < count; i++) {
                start("A" + i, desk.text("inv"), amount);
            }
            desk.join();
        }

        /** Reads the books. */
        void close() {
            close("");
        }

        void close(Rounds round) {
            close(round.key(""));
        }

        private void close(String place) {
            desk.observe("b" + place, () -> invoices.require(desk.text("inv")).refunded());
            desk.observe("d" + place, () -> {
                List<Refund> made = refunds.findByInvoice(desk.text("inv"));
                for (Refund refund : made) {
                    desk.see("e" + place, refund);
                }
                return made.size();
            });
        }
    }
}
