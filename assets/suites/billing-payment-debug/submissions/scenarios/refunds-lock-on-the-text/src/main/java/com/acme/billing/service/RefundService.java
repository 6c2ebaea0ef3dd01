package com.acme.billing.service;

import com.acme.billing.gateway.PaymentGateway;
import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
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

    /** Refunds {@code requested}, in whole cents, of what was paid for an invoice. */
    public Refund issueRefund(String invoiceId, BigDecimal requested) {
        Money.requirePositive(requested, "a refund");
        BigDecimal amount = Money.requirePositive(Money.round(requested), "a refund");
        synchronized (invoiceId) {
            Invoice invoice = invoices.require(invoiceId);
            Payment payment = payments.findByInvoice(invoiceId)
                .filter(found -> invoice.status() == InvoiceStatus.PAID)
                .orElseThrow(() -> new BillingException("invoice " + invoiceId + " is not paid"));
            if (amount.compareTo(refundable(invoice, payment)) > 0) {
                throw new BillingException("refund exceeds what is left of invoice " + invoiceId);
            }
            String reference = gateway.refund(payment.reference(), amount);
            invoices.save(invoice.withRefund(amount));
            Refund refund = new Refund(reference, invoiceId, amount);
            refunds.save(refund);
            return refund;
        }
    }

    private static BigDecimal refundable(Invoice invoice, Payment payment) {
        return payment.amount().subtract(invoice.refunded());
    }
}
