package com.acme.billing.repository;

import com.acme.billing.model.CreditNote;
import com.acme.billing.model.Money;
import java.math.BigDecimal;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** All credit notes in the order in which they were issued. */
public class CreditNoteRepository {

    private final List<CreditNote> notes = new CopyOnWriteArrayList<>();

    public void save(CreditNote note) {
        notes.add(note);
    }

    public List<CreditNote> findByInvoice(String invoiceId) {
        return notes.stream().filter(note -> note.invoiceId().equals(invoiceId)).toList();
    }

    /** Returns the sum of an invoice's credit notes. */
    public BigDecimal creditedOn(String invoiceId) {
        return findByInvoice(invoiceId).stream().map(CreditNote::amount).reduce(Money.ZERO, BigDecimal::add);
    }
}
