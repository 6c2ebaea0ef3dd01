package com.acme.billing.repository;

import com.acme.billing.model.Payment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Payments by the invoice that they settle and by the idempotency key of the request that made them. */
public class PaymentRepository {

    private final Map<String, Payment> byInvoice = new ConcurrentHashMap<>();
    private final Map<String, Payment> byKey = new ConcurrentHashMap<>();

    public void save(Payment payment) {
        byInvoice.put(payment.invoiceId(), payment);
    }

    /** Saves a payment and remembers the key under which it was asked for. */
    public void save(Payment payment, String idempotencyKey) {
        byInvoice.put(payment.invoiceId(), payment);
        byKey.put(idempotencyKey, payment);
    }

    public Optional<Payment> findByInvoice(String invoiceId) {
        return Optional.ofNullable(byInvoice.get(invoiceId));
    }

    public Optional<Payment> findByKey(String idempotencyKey) {
        return Optional.ofNullable(byKey.get(idempotencyKey));
    }
}
