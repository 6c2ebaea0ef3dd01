package com.acme.billing.service;

import com.acme.billing.model.Customer;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.TaxRateRepository;
import java.math.BigDecimal;
import java.util.List;

/** Knows the tax rates and computes the tax on amounts. */
public class TaxService {

    private final TaxRateRepository rates;

    public TaxService(TaxRateRepository rates) {
        this.rates = rates;
    }

    /** Makes {@code rate} the rate of its region from now on. */
    public void registerRate(TaxRate rate) {
        rates.save(rate);
    }

    /** Returns the rate of a region as a fraction. */
    public BigDecimal rateFor(String region) {
        return rates.require(region).rate();
    }

    /** Returns the tax on a net amount; the tax on a credit is negative. */
    public BigDecimal calculateTax(BigDecimal amount, String region) {
        double tax = amount.doubleValue() * rateFor(region).doubleValue();
        return Money.round(BigDecimal.valueOf(Math.round(tax * 100) / 100.0));
    }

    /** Returns the tax on all lines together, each taxed by itself in the customer's region. */
    public BigDecimal taxOn(List<LineItem> lines, Customer customer) {
        return lines.stream()
            .map(line -> calculateTax(line.total(), customer.region()))
            .reduce(Money.ZERO, BigDecimal::add);
    }
}
