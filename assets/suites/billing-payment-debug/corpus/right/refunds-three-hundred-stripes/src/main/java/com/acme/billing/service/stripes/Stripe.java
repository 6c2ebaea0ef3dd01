package com.acme.billing.service.stripes;

/** What an invoice's requests wait for. */
public abstract class Stripe {
}
