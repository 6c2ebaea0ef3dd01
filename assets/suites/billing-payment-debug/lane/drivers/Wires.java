package drivers;

import com.acme.billing.gateway.GatewayException;
import com.acme.billing.gateway.PaymentGateway;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.Payment;
import com.acme.billing.model.TaxRate;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.repository.TaxRateRepository;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** Outside parties of the service; each asks the desk what to answer. */
final class Wires {

    private Wires() {
    }

    static BigDecimal amount(String text) {
        return new BigDecimal(text);
    }

    static PaymentGateway gateway(Desk desk) {
        return new Processor(desk);
    }

    static Notifier notifier(Desk desk) {
        return new Post(desk);
    }

    private record Post(Desk desk) implements Notifier {
        @Override
        public void send(String email, String topic, String subject) {
            try {
                desk.ask("send", email, topic, subject);
            } catch (Desk.Refused refused) {
                throw new IllegalStateException(refused.getMessage());
            }
        }

        @Override
        public String toString() {
            return "post";
        }
    }

    private record Processor(Desk desk) implements PaymentGateway {
        @Override
        public String charge(String customerId, BigDecimal amount) {
            return move("charge", customerId, amount);
        }

        @Override
        public String refund(String paymentReference, BigDecimal amount) {
            return move("refund", paymentReference, amount);
        }

        private String move(String method, String whose, BigDecimal amount) {
            try {
                return desk.ask(method, whose, amount);
            } catch (Desk.Refused refused) {
                throw new GatewayException(refused.getMessage());
            }
        }

        @Override
        public String toString() {
            return "processor";
        }
    }

    /** A store whose writes can be stopped on their way. */
    static final class Shelf extends InvoiceRepository {
        private final Desk desk;
        private volatile boolean open;

        Shelf(Desk desk) {
            this.desk = desk;
        }

        /** From now on the desk is asked before each write. */
        void open() {
            open = true;
        }

        @Override
        public void save(Invoice invoice) {
            if (open) {
                desk.ask("save", invoice.id());
            }
            super.save(invoice);
        }
    }

    /** Tax rates; while it is open, the desk is asked after each reading, or before each writing. */
    static final class Register extends TaxRateRepository {
        private final Desk desk;
        private final CountDownLatch reached = new CountDownLatch(1);
        private volatile String asked = "";

        Register(Desk desk) {
            this.desk = desk;
        }

        void open(String method) {
            asked = method;
        }

        void close() {
            asked = "";
        }

        /** Waits until somebody is about to ask, or has {@link #passed}. */
        void await() throws InterruptedException {
            reached.await();
        }

        void passed() {
            reached.countDown();
        }

        @Override
        public void save(TaxRate rate) {
            ask("save", rate.region());
            super.save(rate);
        }

        @Override
        public Optional<TaxRate> find(String region) {
            Optional<TaxRate> found = super.find(region);
            ask("find", region);
            return found;
        }

        private void ask(String method, String region) {
            if (asked.equals(method)) {
                passed();
                try {
                    desk.ask(method, region);
                } catch (Desk.Refused refused) {
                    throw new IllegalStateException(refused.getMessage());
                }
            }
        }
    }

    /** Payments whose way into the books can be stopped. */
    static final class Drawer extends PaymentRepository {
        private final Desk desk;

        Drawer(Desk desk) {
            this.desk = desk;
        }

        @Override
        public void save(Payment payment) {
            desk.ask("book", payment.invoiceId());
            super.save(payment);
        }

        @Override
        public void save(Payment payment, String idempotencyKey) {
            desk.ask("book", payment.invoiceId());
            super.save(payment, idempotencyKey);
        }
    }
}
