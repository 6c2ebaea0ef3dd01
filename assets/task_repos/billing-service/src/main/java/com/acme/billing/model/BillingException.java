package com.acme.billing.model;

/** A request that the business rules do not allow. Nothing has been changed when it is thrown. */
public class BillingException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public BillingException(String message) {
        super(message);
    }
}
