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
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Takes what invoices ask for from the customers' cards. Called by many request threads at the same time. */
public class PaymentService {

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final PaymentGateway gateway;

    /** Keys and invoices with an attempt under way. */
    private final Set<List<String>> busy = new HashSet<>();

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
        List<String> key = List.of("key", idempotencyKey);
        begin(key);
        try {
            return chargeOnce(invoiceId, idempotencyKey);
        } finally {
            end(key);
        }
    }

    private void begin(List<String> name) {
        synchronized (busy) {
            while (!busy.add(name)) {
                try {
                    busy.wait();
                } catch (InterruptedException interrupt) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException(interrupt);
                }
            }
        }
    }

    private void end(List<String> name) {
        synchronized (busy) {
            busy.remove(name);
            busy.notifyAll();
        }
    }

    private Payment chargeOnce(String invoiceId, String idempotencyKey) {
        Optional<Payment> made = payments.findByKey(idempotencyKey);
        if (made.isPresent()) {
            return sameInvoice(made.get(), invoiceId);
        }
        List<String> name = List.of("invoice", invoiceId);
        begin(name);
        try {
            return pay(invoiceId, idempotencyKey);
        } finally {
            end(name);
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
