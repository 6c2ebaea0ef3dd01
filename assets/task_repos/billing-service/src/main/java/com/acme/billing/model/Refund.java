package com.acme.billing.model;

import java.math.BigDecimal;

/**
 * Money that went back to a customer.
 *
 * @param reference the processor's name for this refund
 */
public record Refund(String reference, String invoiceId, BigDecimal amount) {
}
