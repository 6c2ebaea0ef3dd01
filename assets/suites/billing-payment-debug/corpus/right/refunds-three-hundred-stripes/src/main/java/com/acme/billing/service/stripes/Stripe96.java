package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe96 extends Stripe {
}
