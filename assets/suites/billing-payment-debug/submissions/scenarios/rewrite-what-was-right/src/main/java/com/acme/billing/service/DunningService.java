package com.acme.billing.service;

import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Reminds customers of invoices that should have been paid. */
public class DunningService {

    /**
     * A message that went out.
     *
     * @param level one for the first reminder, three for the last
     */
    public record Reminder(String invoiceId, int level) {
    }

    /** How many days late an invoice must be for the first, the second and the last reminder. */
    private static final List<Integer> DAYS_LATE = List.of(7, 14, 30);

    private final InvoiceRepository invoices;
    private final CustomerRepository customers;
    private final Notifier notifier;
    private final AuditLog audit;

    private final Map<String, LocalDate> dueDates = new TreeMap<>();
    private final Map<String, Integer> levels = new HashMap<>();

    public DunningService(InvoiceRepository invoices, CustomerRepository customers, Notifier notifier,
                          AuditLog audit) {
        this.invoices = invoices;
        this.customers = customers;
        this.notifier = notifier;
        this.audit = audit;
    }

    /** Watches an invoice that has to be paid until the end of {@code dueDate}. */
    public synchronized void watch(String invoiceId, LocalDate dueDate) {
        dueDates.put(invoices.require(invoiceId).id(), dueDate);
    }

    /** Sends the reminders that are due {@code today}, and returns those that went out. */
    public synchronized List<Reminder> remind(LocalDate today) {
        List<Reminder> sent = new ArrayList<>();
        dueDates.forEach((invoiceId, dueDate) -> {
            int level = level(ChronoUnit.DAYS.between(dueDate, today));
            Invoice invoice = invoices.require(invoiceId);
            boolean due = level > levels.getOrDefault(invoiceId, 0);
            if (due && invoice.status() == InvoiceStatus.OPEN && send(invoice, level)) {
                levels.put(invoiceId, level);
                sent.add(new Reminder(invoiceId, level));
            }
        });
        return sent;
    }

    private boolean send(Invoice invoice, int level) {
        try {
            Customer customer = customers.require(invoice.customerId());
            notifier.send(customer.email(), "reminder-" + level, invoice.id());
        } catch (RuntimeException e) {
            // one customer who cannot be reached must not keep the others from being reminded
            audit.write("reminder-failed", invoice.id());
            return true;
        }
        audit.write("reminder-sent", invoice.id());
        return true;
    }

    private static int level(long daysLate) {
        return (int) DAYS_LATE.stream().filter(days -> daysLate > days).count();
    }
}
