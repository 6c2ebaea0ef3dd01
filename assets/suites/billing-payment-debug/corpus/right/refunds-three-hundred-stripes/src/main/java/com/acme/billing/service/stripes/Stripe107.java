package com.acme.billing.service.stripes;

/** One of the stripes. */
public final class Stripe107 extends Stripe {
}
