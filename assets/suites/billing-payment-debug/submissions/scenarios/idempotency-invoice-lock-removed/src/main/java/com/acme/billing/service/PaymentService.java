package com.acme.billing.service;

import com.acme.billing.gateway.PaymentGateway;
import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Takes what invoices ask for from the customers' cards. Called by many request threads at the same time. */
public class PaymentService {

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final PaymentGateway gateway;

    /** One lock a key: from the look for its payment until that is booked nobody else may look for it. */
    private final Map<String, Object> keyLocks = new ConcurrentHashMap<>();

    /** One lock an invoice, taken after the key's: requests with other keys wait until it is paid or not. */
    private final Map<String, Object> invoiceLocks = new ConcurrentHashMap<>();

    public PaymentService(InvoiceRepository invoices, PaymentRepository payments, PaymentGateway gateway) {
        this.invoices = invoices;
        this.payments = payments;
        this.gateway = gateway;
    }

    /**
     * Charges an open invoice to its customer's card.
     *
     * @param idempotencyKey the caller's name for this payment, the same in every attempt at it
     * @return the payment; for a key that has made one already, that one
     */
    public Payment charge(String invoiceId, String idempotencyKey) {
        if (idempotencyKey == null || idempotencyKey.isBlank()) {
            throw new BillingException("a charge needs an idempotency key");
        }
        synchronized (keyLocks.computeIfAbsent(idempotencyKey, key -> new Object())) {
            Optional<Payment> made = payments.findByKey(idempotencyKey);
            if (made.isPresent()) {
                return sameInvoice(made.get(), invoiceId);
            }
            synchronized (invoiceLocks.computeIfAbsent(invoiceId, id -> new Object())) {
                try {
                    return pay(invoiceId, idempotencyKey);
                } finally {
                    invoiceLocks.remove(invoiceId);
                }
            }
        }
    }

    private Payment pay(String invoiceId, String idempotencyKey) {
        Invoice invoice = invoices.require(invoiceId);
        if (invoice.status() != InvoiceStatus.OPEN) {
            throw new BillingException("invoice " + invoiceId + " is not open");
        }
        BigDecimal amount = Money.requirePositive(invoice.total(), "a charge");
        String reference = gateway.charge(invoice.customerId(), amount);
        Payment payment = new Payment(reference, invoiceId, amount);
        payments.save(payment, idempotencyKey);
        invoices.save(invoice.withStatus(InvoiceStatus.PAID));
        return payment;
    }

    private static Payment sameInvoice(Payment made, String invoiceId) {
        if (!made.invoiceId().equals(invoiceId)) {
            throw new BillingException("the idempotency key belongs to another invoice");
        }
        return made;
    }
}
