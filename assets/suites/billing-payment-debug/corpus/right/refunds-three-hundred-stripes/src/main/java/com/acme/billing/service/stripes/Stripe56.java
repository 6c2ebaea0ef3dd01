package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe56 extends Stripe {
}
