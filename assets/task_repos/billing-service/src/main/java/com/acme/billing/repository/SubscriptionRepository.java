package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Subscription;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Subscriptions by id. */
public class SubscriptionRepository {

    private final Map<String, Subscription> byId = new ConcurrentHashMap<>();

    public void save(Subscription subscription) {
        byId.put(subscription.id(), subscription);
    }

    public Optional<Subscription> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns what is stored under {@code id}, and complains if there is nothing. */
    public Subscription require(String id) {
        return find(id).orElseThrow(() -> new BillingException("no subscription " + id));
    }
}
