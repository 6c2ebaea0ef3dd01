package com.acme.billing.service;

import com.acme.billing.gateway.PaymentGateway;
import com.acme.billing.model.Refund;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.repository.RefundRepository;
import java.math.BigDecimal;

/** Gives customers their money back. Called by many request threads at the same time. */
public class RefundService {

    private final InvoiceRepository invoices;
    private final PaymentRepository payments;
    private final RefundRepository refunds;
    private final PaymentGateway gateway;

    public RefundService(InvoiceRepository invoices, PaymentRepository payments,
                         RefundRepository refunds, PaymentGateway gateway) {
        this.invoices = invoices;
        this.payments = payments;
        this.refunds = refunds;
        this.gateway = gateway;
    }

    /** Refunds {@code amount} of what was paid for an invoice. */
    public Refund issueRefund(String invoiceId, BigDecimal amount) {
        return new Refund("", invoiceId, amount);
    }
}
