package com.acme.billing.gateway;

import java.math.BigDecimal;

/** The card processor. Every call moves real money, takes a while, and may be declined. */
public interface PaymentGateway {

    /**
     * Takes {@code amount} from a customer's card.
     *
     * @return the processor's reference of the payment
     * @throws GatewayException if the processor declines; no money has moved then
     */
    String charge(String customerId, BigDecimal amount);

    /**
     * Gives {@code amount} of an earlier payment back.
     *
     * @param paymentReference what {@link #charge} returned for the payment
     * @return the processor's reference of the refund
     * @throws GatewayException if the processor declines; no money has moved then
     */
    String refund(String paymentReference, BigDecimal amount);
}
