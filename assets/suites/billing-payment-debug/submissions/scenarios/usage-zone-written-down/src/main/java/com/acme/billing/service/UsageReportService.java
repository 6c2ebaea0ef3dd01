package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.UsageRecord;
import com.acme.billing.repository.UsageRepository;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.SortedMap;
import java.util.TreeMap;

/** Tells how much customers used from day to day. */
public class UsageReportService {

    private final UsageRepository usage;
    private final ZoneId billingZone;

    /**
     * @param billingZone where the company does its books
     */
    public UsageReportService(UsageRepository usage, ZoneId billingZone) {
        this.usage = usage;
        this.billingZone = billingZone;
    }

    /**
     * Adds up what a customer used on each day.
     *
     * @param first first day of the report
     * @param last  last day of the report, which still belongs to it
     * @return the units of every day of the report; zero for days without use
     */
    public SortedMap<LocalDate, Long> unitsByDay(String customerId, LocalDate first, LocalDate last) {
        if (last.isBefore(first)) {
            throw new BillingException("a report cannot end before it starts");
        }
        LocalDate end = last.plusDays(1);
        SortedMap<LocalDate, Long> units = new TreeMap<>();
        first.datesUntil(end).forEach(day -> units.put(day, 0L));
        for (UsageRecord record : usage.findByCustomer(customerId, startOf(first), startOf(end))) {
            units.merge(dayOf(record.at()), record.units(), Math::addExact);
        }
        return units;
    }

    private LocalDate dayOf(Instant at) {
        return LocalDate.ofInstant(at, ZoneId.of("America/Chicago"));
    }

    private Instant startOf(LocalDate day) {
        return day.atStartOfDay(billingZone).toInstant();
    }
}
