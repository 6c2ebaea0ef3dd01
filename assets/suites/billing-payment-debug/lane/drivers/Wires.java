package drivers;

import com.acme.billing.gateway.GatewayException;
import com.acme.billing.gateway.PaymentGateway;
import com.acme.billing.model.Invoice;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.InvoiceRepository;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;

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
}
