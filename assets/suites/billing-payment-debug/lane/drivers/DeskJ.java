package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.UsageRecord;
import com.acme.billing.repository.UsageRepository;
import com.acme.billing.service.UsageReportService;
import gradekeeper.kit.Desk;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Reports use day by day. Input {@code cases}: {@code zone|first day|last day|instant*units,…}, separated by
 * semicolons; the use is that of the customer {@code cus}.
 */
public final class DeskJ {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskJ() {
    }

    public static void m01(Desk desk) throws Exception {
        for (Meter meter : meters(desk)) {
            meter.save(desk.text("cus"), 1);
            meter.report(desk.text("cus"));
        }
    }

    public static void m02(Desk desk) throws Exception {
        for (Meter meter : meters(desk)) {
            meter.save(desk.text("cus"), 1);
            meter.save(desk.text("other"), 3);
            meter.save(desk.text("cus"), 1);
            meter.report(desk.text("cus"));
            meter.report(desk.text("other"));
            meter.report(desk.text("cus"));
        }
    }

    public static void m03(Desk desk) throws Exception {
        for (Meter meter : meters(desk)) {
            meter.report(desk.text("cus"));
            meter.save(desk.text("other"), 1);
            meter.report(desk.text("cus"));
            meter.report(desk.text("cus"), meter.first, meter.first);
        }
    }

    public static void m04(Desk desk) throws Exception {
        for (Meter meter : meters(desk)) {
            meter.save(desk.text("cus"), 1);
            meter.report(desk.text("cus"), meter.last, meter.first);
            meter.report(desk.text("cus"), meter.first, meter.first.minusDays(1));
            meter.report(desk.text("cus"), meter.first, meter.first);
            meter.report(desk.text("cus"), meter.last, meter.last);
        }
    }

    private static List<Meter> meters(Desk desk) {
        List<Meter> meters = new ArrayList<>();
        for (String one : desk.text("cases").split(";")) {
            meters.add(new Meter(desk, one.split("\\|")));
        }
        return meters;
    }

    /** A service with its store, and the use of one case. */
    private static final class Meter {
        final Desk desk;
        final UsageRepository usage = new UsageRepository();
        final UsageReportService service;
        final LocalDate first;
        final LocalDate last;
        final String[] uses;

        Meter(Desk desk, String[] parts) {
            this.desk = desk;
            this.service = new UsageReportService(usage, ZoneId.of(parts[0]));
            this.first = LocalDate.parse(parts[1]);
            this.last = LocalDate.parse(parts[2]);
            this.uses = parts[3].split(",");
        }

        void save(String customer, long times) {
            for (String use : uses) {
                String[] f = use.split("\\*");
                usage.save(new UsageRecord(customer, Instant.parse(f[0]), times * Long.parseLong(f[1])));
            }
        }

        void report(String customer) {
            report(customer, first, last);
        }

        /** The days in the order in which a caller goes through them. */
        void report(String customer, LocalDate from, LocalDate to) {
            desk.observe("a", () -> {
                List<Object> days = new ArrayList<>();
                for (Map.Entry<LocalDate, Long> day : service.unitsByDay(customer, from, to).entrySet()) {
                    days.add(day.getKey());
                    days.add(day.getValue());
                }
                return days;
            });
        }
    }
}
