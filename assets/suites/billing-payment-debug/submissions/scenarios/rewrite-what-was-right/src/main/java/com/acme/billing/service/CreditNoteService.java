package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.CreditNote;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.Money;
import com.acme.billing.repository.CreditNoteRepository;
import com.acme.billing.repository.InvoiceRepository;
import java.math.BigDecimal;

/** Corrects invoices that have been sent. */
public class CreditNoteService {

    private final InvoiceRepository invoices;
    private final CreditNoteRepository notes;
    private final AuditLog audit;

    /** How many notes there are; guarded by this service's monitor, like all of {@link #issue}. */
    private long issued;

    public CreditNoteService(InvoiceRepository invoices, CreditNoteRepository notes, AuditLog audit) {
        this.invoices = invoices;
        this.notes = notes;
        this.audit = audit;
    }

    /** Takes {@code amount} off what the customer owes for an invoice. */
    public CreditNote issue(String invoiceId, BigDecimal amount, String reason) {
        Money.requirePositive(amount, "a credit note");
        BigDecimal credit = Money.requirePositive(Money.round(amount), "a credit note");
        Invoice invoice = invoices.require(invoiceId);
        if (invoice.status() == InvoiceStatus.VOID) {
            throw new BillingException("invoice " + invoiceId + " is void");
        }
        if (notes.creditedOn(invoiceId).add(credit).compareTo(invoice.total()) >= 0) {
            throw new BillingException("credit notes exceed the total of invoice " + invoiceId);
        }
        CreditNote note = new CreditNote("CN-%06d".formatted(issued + 1), invoiceId, credit, reason);
        notes.save(note);
        issued++;
        audit.write("credit-note-issued", note.number());
        return note;
    }
}
