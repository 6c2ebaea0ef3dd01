package com.acme.billing.service;

import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.repository.CreditNoteRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import java.math.BigDecimal;
import java.util.List;

/** Tells customers how they stand. */
public class StatementService {

    /** How a customer stands at one moment, invoice by invoice. */
    public record Statement(String customerId, List<Line> lines) {

        public Statement {
            lines = List.copyOf(lines);
        }

        /** Returns what the customer owes altogether; negative if money is due to the customer. */
        public BigDecimal balance() {
            return lines.stream().map(Line::balance).reduce(Money.ZERO, BigDecimal::add);
        }
    }

    /** What became of one invoice; all amounts are zero or more. */
    public record Line(String invoiceId, BigDecimal billed, BigDecimal credited, BigDecimal paid,
                       BigDecimal refunded) {

        /** Returns what is still owed for the invoice; negative if money is due to the customer. */
        public BigDecimal balance() {
            return billed.subtract(credited).subtract(paid).subtract(refunded);
        }
    }

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final CreditNoteRepository notes;

    public StatementService(InvoiceRepository invoices, PaymentRepository payments,
                            CreditNoteRepository notes) {
        this.invoices = invoices;
        this.payments = payments;
        this.notes = notes;
    }

    /** Returns the statement of a customer, who may have no invoices yet. */
    public Statement statementFor(String customerId) {
        return new Statement(customerId, invoices.findByCustomer(customerId).stream()
            .filter(invoice -> invoice.status() != InvoiceStatus.VOID)
            .map(this::line)
            .toList());
    }

    private Line line(Invoice invoice) {
        BigDecimal paid = payments.findByInvoice(invoice.id()).map(Payment::amount).orElse(Money.ZERO);
        return new Line(invoice.id(), invoice.total(), notes.creditedOn(invoice.id()), paid,
            invoice.refunded());
    }
}
