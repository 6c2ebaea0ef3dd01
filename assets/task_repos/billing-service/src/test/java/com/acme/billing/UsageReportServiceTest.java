package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertEquals;

import com.acme.billing.model.UsageRecord;
import com.acme.billing.repository.UsageRepository;
import com.acme.billing.service.UsageReportService;
import com.acme.billing.testkit.Test;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.Map;

public final class UsageReportServiceTest {

    @Test
    public void addsUpTheUnitsOfEachDay() {
        UsageRepository usage = new UsageRepository();
        usage.save(new UsageRecord("cus-1", Instant.parse("2023-04-01T11:00:00Z"), 30));
        usage.save(new UsageRecord("cus-1", Instant.parse("2023-04-01T12:30:00Z"), 12));
        usage.save(new UsageRecord("cus-2", Instant.parse("2023-04-02T12:00:00Z"), 99));
        usage.save(new UsageRecord("cus-1", Instant.parse("2023-04-03T12:00:00Z"), 5));
        LocalDate first = LocalDate.of(2023, 4, 1);
        assertEquals(Map.of(first, 42L, first.plusDays(1), 0L, first.plusDays(2), 5L),
            new UsageReportService(usage, ZoneId.of("Europe/Paris"))
                .unitsByDay("cus-1", first, first.plusDays(2)));
    }
}
