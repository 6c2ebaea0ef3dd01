package drivers;

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

/** Gives money back. Inputs: {@code total} of the invoice {@code inv}, paid by the payment {@code pay}. */
public final class DeskC {

    private DeskC() {
    }

    public static void m01(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.start("A2", desk.text("inv"), till.part("0.4"));
        till.together(till.part("0.6"), 2);
        till.close();
    }

    public static void m02(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.3"), 2);
        till.close();
    }

    public static void m03(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.25"), 8);
        till.close();
    }

    public static void m04(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.together(till.part("0.4"), 2);
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
    }

    public static void m09(Desk desk) throws Exception {
        Till till = new Till(desk);
        till.ask(BigDecimal.ZERO);
        till.ask(till.total.negate());
        till.askFor(desk.text("other"), till.total);
        till.add(desk.text("open"), InvoiceStatus.OPEN);
        till.askFor(desk.text("open"), till.total);
        till.close();
        till.ask(till.total);
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
            desk.observe("a", () -> service.issueRefund(invoice, amount));
        }

        void start(String name, String invoice, BigDecimal amount) {
            desk.actor(name, "a", () -> service.issueRefund(invoice, amount));
        }

        void together(BigDecimal amount, int count) throws Exception {
            for (int i = 0; i < count; i++) {
                start("A" + i, desk.text("inv"), amount);
            }
            desk.join();
        }

        /** Reads the books. */
        void close() {
            desk.observe("b", () -> invoices.require(desk.text("inv")).refunded());
            desk.observe("d", () -> {
                List<Refund> made = refunds.findByInvoice(desk.text("inv"));
                for (Refund refund : made) {
                    desk.see("e", refund);
                }
                return made.size();
            });
        }
    }
}
