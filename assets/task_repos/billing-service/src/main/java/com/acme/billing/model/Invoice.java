package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.List;
import java.util.Objects;

/**
 * An invoice at one moment. Instances never change; a change makes a new one, to be saved.
 *
 * @param discount what coupons take off the sum of the lines, before tax
 * @param refunded how much of the payment has gone back to the customer so far
 */
public record Invoice(String id, String customerId, List<LineItem> lines, BigDecimal discount,
                      BigDecimal tax, InvoiceStatus status, BigDecimal refunded) {

    public Invoice {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(customerId, "customerId");
        Objects.requireNonNull(status, "status");
        lines = List.copyOf(lines);
        discount = Money.round(discount);
        tax = Money.round(tax);
        refunded = Money.round(refunded);
    }

    /** Returns a new invoice without a discount that waits for its payment. */
    public static Invoice open(String id, String customerId, List<LineItem> lines, BigDecimal tax) {
        return open(id, customerId, lines, Money.ZERO, tax);
    }

    /** Returns a new invoice that waits for its payment. */
    public static Invoice open(String id, String customerId, List<LineItem> lines, BigDecimal discount,
                               BigDecimal tax) {
        return new Invoice(id, customerId, lines, discount, tax, InvoiceStatus.OPEN, Money.ZERO);
    }

    /** Returns the sum of the lines, without discount and tax. */
    public BigDecimal subtotal() {
        return lines.stream().map(LineItem::total).reduce(Money.ZERO, BigDecimal::add);
    }

    /** Returns what the customer has to pay. */
    public BigDecimal total() {
        return subtotal().subtract(discount).add(tax);
    }

    public Invoice withStatus(InvoiceStatus newStatus) {
        return new Invoice(id, customerId, lines, discount, tax, newStatus, refunded);
    }

    /** Returns this invoice with {@code amount} more handed back. */
    public Invoice withRefund(BigDecimal amount) {
        return new Invoice(id, customerId, lines, discount, tax, status, refunded.add(amount));
    }
}
