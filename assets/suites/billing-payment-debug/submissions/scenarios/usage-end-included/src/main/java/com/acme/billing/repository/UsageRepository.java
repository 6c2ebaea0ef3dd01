package com.acme.billing.repository;

import com.acme.billing.model.UsageRecord;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** All metered use in the order in which it was reported, which may be late and in any order. */
public class UsageRepository {

    private final List<UsageRecord> records = new CopyOnWriteArrayList<>();

    public void save(UsageRecord record) {
        records.add(record);
    }

    /** Returns what a customer used from {@code from} on and before {@code until}. */
    public List<UsageRecord> findByCustomer(String customerId, Instant from, Instant until) {
        return records.stream()
            .filter(record -> record.customerId().equals(customerId))
            .filter(record -> !record.at().isBefore(from) && !record.at().isAfter(until))
            .toList();
    }
}
