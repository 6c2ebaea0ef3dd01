package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Objects;

/**
 * A correction of an invoice in the customer's favour. The invoice itself stays as it was sent.
 *
 * @param reason why, in words for the customer
 */
public record CreditNote(String number, String invoiceId, BigDecimal amount, String reason) {

    public CreditNote {
        Objects.requireNonNull(number, "number");
        Objects.requireNonNull(invoiceId, "invoiceId");
        amount = Money.round(amount);
    }
}
