package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe82 extends Stripe {
}
