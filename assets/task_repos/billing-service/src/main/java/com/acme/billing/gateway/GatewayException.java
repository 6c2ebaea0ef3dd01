package com.acme.billing.gateway;

/** The card processor declined, or could not be reached. No money has moved. */
public class GatewayException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public GatewayException(String message) {
        super(message);
    }
}
