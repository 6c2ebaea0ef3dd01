package com.acme.billing.model;

import java.math.BigDecimal;
import java.util.Objects;

/**
 * What the card processor tells about a payment. A delivery that is not acknowledged is repeated as it was.
 *
 * @param id     the processor's name for the event, the same in every delivery of it
 * @param type   what happened, such as {@code payment.succeeded}
 * @param amount how much the payment was about
 */
public record WebhookEvent(String id, String type, String invoiceId, BigDecimal amount) {

    public WebhookEvent {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(invoiceId, "invoiceId");
        amount = Money.round(amount);
    }
}
