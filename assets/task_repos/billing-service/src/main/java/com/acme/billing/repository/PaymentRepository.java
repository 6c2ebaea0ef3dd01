package com.acme.billing.repository;

import com.acme.billing.model.Payment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Payments by the invoice that they settle. */
public class PaymentRepository {

    private final Map<String, Payment> byInvoice = new ConcurrentHashMap<>();

    public void save(Payment payment) {
        byInvoice.put(payment.invoiceId(), payment);
    }

    public Optional<Payment> findByInvoice(String invoiceId) {
        return Optional.ofNullable(byInvoice.get(invoiceId));
    }
}
