package com.acme.billing.model;

/** Where an invoice is in its life. */
public enum InvoiceStatus {
    /** Sent, not yet paid. */
    OPEN,
    /** Paid in full; refunds may follow. */
    PAID,
    /** Withdrawn before it was paid. */
    VOID
}
