package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import java.util.Comparator;
import java.util.List;
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

    /** Returns a customer's invoices, ordered by id. */
    public List<Invoice> findByCustomer(String customerId) {
        return byId.values().stream()
            .filter(invoice -> invoice.customerId().equals(customerId))
            .sorted(Comparator.comparing(Invoice::id))
            .toList();
    }
}
