package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.Payment;
import com.acme.billing.model.WebhookEvent;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Takes in what the processor tells about payments. The processor repeats a delivery until it is acknowledged,
 * sometimes while an earlier one is still under way.
 */
public class WebhookService {

    private static final String SUCCEEDED = "payment.succeeded";
    private static final String FAILED = "payment.failed";

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final CustomerRepository customers;
    private final Notifier notifier;

    /** Ids of the events that need no further delivery. */
    private final Set<String> processed = ConcurrentHashMap.newKeySet();

    /** One lock an invoice: deliveries about it are taken in one after the other. */
    private final Map<String, Object> locks = new ConcurrentHashMap<>();

    public WebhookService(InvoiceRepository invoices, PaymentRepository payments,
                          CustomerRepository customers, Notifier notifier) {
        this.invoices = invoices;
        this.payments = payments;
        this.customers = customers;
        this.notifier = notifier;
    }

    /**
     * Takes in one delivery of an event. If it throws, the delivery counts as failed and the processor repeats it.
     *
     * @return whether this delivery applied the event; false for a repeated one and for events that do not concern us
     */
    public boolean handle(WebhookEvent event) {
        if (!event.type().equals(SUCCEEDED) && !event.type().equals(FAILED)) {
            return false;
        }
        synchronized (locks.computeIfAbsent(event.id() + event.invoiceId(), id -> new Object())) {
            if (processed.contains(event.id())) {
                return false;
            }
            apply(event);
            processed.add(event.id());
            return true;
        }
    }

    /** Tells the customer before anything is booked: a message may fail, and then nothing must have changed. */
    private void apply(WebhookEvent event) {
        Invoice invoice = invoices.require(event.invoiceId());
        Customer customer = customers.require(invoice.customerId());
        if (event.type().equals(FAILED)) {
            notifier.send(customer.email(), "payment-failed", invoice.id());
            return;
        }
        if (invoice.status() != InvoiceStatus.OPEN || event.amount().compareTo(invoice.total()) != 0) {
            throw new BillingException("event " + event.id() + " does not pay invoice " + invoice.id());
        }
        notifier.send(customer.email(), "payment-received", invoice.id());
        invoices.save(invoice.withStatus(InvoiceStatus.PAID));
        payments.save(new Payment(event.id(), invoice.id(), event.amount()));
    }
}
