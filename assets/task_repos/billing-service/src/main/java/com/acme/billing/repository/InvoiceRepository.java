package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Invoices by id. Keeps what was saved last; thread-safe, but knows no transactions. */
public class InvoiceRepository {

    private final Map<String, Invoice> byId = new ConcurrentHashMap<>();

    public void save(Invoice invoice) {
        byId.put(invoice.id(), invoice);
    }

    public Optional<Invoice> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns what is stored under {@code id}, and complains if there is nothing. */
    public Invoice require(String id) {
        return find(id).orElseThrow(() -> new BillingException("no invoice " + id));
    }
}
