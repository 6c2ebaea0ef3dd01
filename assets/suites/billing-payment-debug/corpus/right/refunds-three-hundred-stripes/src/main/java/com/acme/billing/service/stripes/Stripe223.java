package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe223 extends Stripe {
}
