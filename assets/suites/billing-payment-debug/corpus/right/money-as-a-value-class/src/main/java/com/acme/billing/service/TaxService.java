package com.acme.billing.service;

import com.acme.billing.model.Cents;
import com.acme.billing.model.Customer;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.TaxRateRepository;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Knows the tax rates and computes the tax on amounts. */
public class TaxService {

    private final TaxRateRepository rates;

    /** Rates by region: they are read for every line of every invoice and change once in years. */
    private final Map<String, BigDecimal> cache = new ConcurrentHashMap<>();

    public TaxService(TaxRateRepository rates) {
        this.rates = rates;
    }

    /** Makes {@code rate} the rate of its region from now on. */
    public void registerRate(TaxRate rate) {
        rates.save(rate);
        cache.remove(rate.region());
    }

    /** Returns the rate of a region as a fraction. */
    public BigDecimal rateFor(String region) {
        return cache.computeIfAbsent(region, key -> rates.require(key).rate());
    }

    /** Returns the tax on a net amount; the tax on a credit is negative. */
    public BigDecimal calculateTax(BigDecimal amount, String region) {
        return Cents.nearest(amount.multiply(rateFor(region))).toDecimal();
    }

    /** Returns the tax on all lines together, each taxed by itself in the customer's region. */
    public BigDecimal taxOn(List<LineItem> lines, Customer customer) {
        return lines.stream()
            .map(line -> calculateTax(line.total(), customer.region()))
            .reduce(Money.ZERO, BigDecimal::add);
    }
}
