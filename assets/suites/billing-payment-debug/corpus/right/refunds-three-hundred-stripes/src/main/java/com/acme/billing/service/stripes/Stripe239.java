package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe239 extends Stripe {
}
