package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.UsageRecord;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.UsageRepository;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Warns customers who come near to what their plan includes. */
public class UsageAlertService {

    /** Shares of the included units, in percent, in rising order. */
    private static final List<Integer> THRESHOLDS = List.of(50, 80, 100);

    private final UsageRepository usage;
    private final CustomerRepository customers;
    private final Notifier notifier;

    /** What was told already. Guarded by this service's lock. */
    private final Set<Alert> told = new HashSet<>();

    public UsageAlertService(UsageRepository usage, CustomerRepository customers, Notifier notifier) {
        this.usage = usage;
        this.customers = customers;
        this.notifier = notifier;
    }

    /**
     * Tells a customer about each threshold that the use of a period has reached and that was not told before.
     *
     * @param from          start of the period
     * @param until         end of the period, which does not belong to it any more
     * @param includedUnits units that are included in the customer's plan for the period
     * @return the thresholds told now, in percent, in rising order
     */
    public synchronized List<Integer> check(String customerId, Instant from, Instant until,
                                            long includedUnits) {
        if (includedUnits < 1 || !from.isBefore(until)) {
            throw new BillingException("an alert needs included units and a period");
        }
        Customer customer = customers.require(customerId);
        BigDecimal used = usage.findByCustomer(customerId, from, until).stream()
            .map(UsageRecord::units)
            .map(BigDecimal::valueOf)
            .reduce(BigDecimal.ZERO, BigDecimal::add);
        List<Integer> now = new ArrayList<>();
        for (int percent : THRESHOLDS) {
            Alert alert = new Alert(customerId, from, until, percent);
            if (reached(used, includedUnits, percent) && !told.contains(alert)) {
                notifier.send(customer.email(), "usage-" + percent, customerId);
                told.add(alert);
                now.add(percent);
            }
        }
        return now;
    }

    private static boolean reached(BigDecimal used, long includedUnits, int percent) {
        BigDecimal share = BigDecimal.valueOf(includedUnits).multiply(BigDecimal.valueOf(percent));
        return used.movePointRight(2).compareTo(share) > 0;
    }

    private record Alert(String customerId, Instant from, Instant until, int percent) {
    }
}
