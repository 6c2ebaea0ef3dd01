package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe249 extends Stripe {
}
