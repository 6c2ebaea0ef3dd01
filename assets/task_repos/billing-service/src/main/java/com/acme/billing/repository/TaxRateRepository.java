package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.TaxRate;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Tax rates by region. A region has one rate at a time: the one saved last. */
public class TaxRateRepository {

    private final Map<String, TaxRate> byRegion = new ConcurrentHashMap<>();

    public void save(TaxRate rate) {
        byRegion.put(rate.region(), rate);
    }

    public Optional<TaxRate> find(String region) {
        return Optional.ofNullable(byRegion.get(region));
    }

    /** Returns what is stored under {@code region}, and complains if there is nothing. */
    public TaxRate require(String region) {
        return find(region).orElseThrow(() -> new BillingException("no tax rate for " + region));
    }
}
