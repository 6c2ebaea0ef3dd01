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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Takes what invoices ask for from the customers' cards. Called by many request threads at the same time. */
public class PaymentService {

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final PaymentGateway gateway;

    /** Attempts that are being made, by key and by invoice; each completes when it is over, whatever came of it. */
    private final Map<String, CompletableFuture<Void>> byKey = new ConcurrentHashMap<>();
    private final Map<String, CompletableFuture<Void>> byInvoice = new ConcurrentHashMap<>();

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
        return alone(byKey, idempotencyKey, () -> chargeOnce(invoiceId, idempotencyKey));
    }

    private static Payment alone(Map<String, CompletableFuture<Void>> underWay, String name,
                                 Supplier<Payment> attempt) {
        while (true) {
            CompletableFuture<Void> mine = new CompletableFuture<>();
            CompletableFuture<Void> other = underWay.putIfAbsent(name, mine);
            if (other != null) {
                other.join();
                continue;
            }
            try {
                return attempt.get();
            } finally {
                underWay.remove(name);
                mine.complete(null);
            }
        }
    }

    private Payment chargeOnce(String invoiceId, String idempotencyKey) {
        Optional<Payment> made = payments.findByKey(idempotencyKey);
        if (made.isPresent()) {
            return sameInvoice(made.get(), invoiceId);
        }
        return alone(byInvoice, invoiceId, () -> pay(invoiceId, idempotencyKey));
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
