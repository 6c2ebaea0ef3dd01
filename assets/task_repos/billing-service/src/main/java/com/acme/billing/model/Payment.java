package com.acme.billing.model;

import java.math.BigDecimal;

/**
 * Money that arrived for an invoice.
 *
 * @param reference the processor's name for this payment
 */
public record Payment(String reference, String invoiceId, BigDecimal amount) {
}
