package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe198 extends Stripe {
}
