package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.service.TaxService;
import gradekeeper.kit.Desk;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

/** Registers tax rates. Input {@code cases}: {@code amount*rate,rate,…}, separated by semicolons. */
public final class DeskI {

    static {
        Desk.observeAs(BillingException.class);
    }

    private DeskI() {
    }

    public static void m01(Desk desk) throws Exception {
        Office office = new Office(desk, new TaxRateRepository());
        desk.observe("a", () -> {
            List<BigDecimal> seen = new ArrayList<>();
            for (Entry entry : office.entries) {
                for (BigDecimal rate : entry.rates) {
                    office.service.registerRate(new TaxRate(entry.region, rate));
                    seen.add(office.service.rateFor(entry.region));
                    seen.add(office.service.calculateTax(entry.amount, entry.region));
                }
            }
            return seen;
        });
    }

    public static void m02(Desk desk) throws Exception {
        Office office = new Office(desk, new TaxRateRepository());
        desk.observe("a", () -> {
            List<BigDecimal> seen = new ArrayList<>();
            for (int round = 0; round < office.entries.get(0).rates.size(); round++) {
                for (Entry entry : office.entries) {
                    office.service.registerRate(new TaxRate(entry.region, entry.rates.get(round)));
                }
                for (Entry entry : office.entries) {
                    seen.add(office.service.taxOn(entry.lines(), entry.customer()));
                }
            }
            return seen;
        });
    }

    public static void m03(Desk desk) throws Exception {
        for (String method : List.of("find", "save")) {
            Wires.Register store = new Wires.Register(desk);
            Office office = new Office(desk, store);
            Entry entry = office.entries.get(0);
            TaxRate later = new TaxRate(entry.region, entry.rates.get(1));
            store.save(new TaxRate(entry.region, entry.rates.get(0)));
            store.open(method);
            Runnable read = () -> office.service.rateFor(entry.region);
            Runnable write = () -> office.service.registerRate(later);
            start(desk, store, "A", method.equals("find") ? read : write);
            store.await();
            start(desk, store, "B", method.equals("find") ? write : read);
            desk.join();
            store.close();
            desk.observe("b", () -> office.service.rateFor(entry.region));
            desk.observe("c", () -> office.service.calculateTax(entry.amount, entry.region));
        }
    }

    public static void m04(Desk desk) throws Exception {
        Wires.Register store = new Wires.Register(desk);
        Office office = new Office(desk, store);
        for (Entry entry : office.entries) {
            office.service.registerRate(new TaxRate(entry.region, entry.rates.get(0)));
        }
        store.open("find");
        for (int round = 0; round < 3; round++) {
            for (Entry entry : office.entries) {
                desk.observe("a", () -> office.service.calculateTax(entry.amount, entry.region));
                desk.observe("b", () -> office.service.rateFor(entry.region));
                desk.observe("c", () -> office.service.taxOn(entry.lines(), entry.customer()));
            }
        }
    }

    public static void m05(Desk desk) throws Exception {
        Office office = new Office(desk, new TaxRateRepository());
        for (Entry entry : office.entries) {
            office.service.registerRate(new TaxRate(entry.region, entry.rates.get(0)));
        }
        List<Entry> others = office.entries.subList(1, office.entries.size());
        for (int round = 0; round < office.entries.get(0).rates.size(); round++) {
            for (Entry entry : others) {
                desk.observe("a", () -> office.service.calculateTax(entry.amount, entry.region));
            }
            Entry first = office.entries.get(0);
            office.service.registerRate(new TaxRate(first.region, first.rates.get(round)));
        }
        desk.observe("b", () -> office.service.rateFor(desk.text("region")));
        for (Entry entry : others) {
            desk.observe("c", () -> office.service.taxOn(entry.lines(), entry.customer()));
        }
        // another company, whose rates are of other regions, though they have the same names
        Office next = new Office(desk, new TaxRateRepository());
        desk.observe("d", () -> next.service.rateFor(others.get(0).region));
        for (Entry entry : next.entries) {
            next.service.registerRate(new TaxRate(entry.region, entry.rates.get(2)));
            desk.observe("d", () -> next.service.rateFor(entry.region));
            desk.observe("b", () -> office.service.calculateTax(BigDecimal.ONE, entry.region));
        }
    }

    public static void m06(Desk desk) throws Exception {
        Wires.Register store = new Wires.Register(desk);
        Office office = new Office(desk, store);
        Entry known = office.entries.get(0);
        Entry unknown = office.entries.get(1);
        office.service.registerRate(new TaxRate(known.region, known.rates.get(0)));
        desk.observe("a", () -> office.service.rateFor(known.region));
        desk.observe("a", () -> office.service.rateFor(unknown.region));
        store.open("save");
        for (Entry entry : List.of(known, unknown)) {
            desk.observe("b", () -> office.register(entry, 1));
            desk.observe("c", () -> office.service.rateFor(entry.region));
        }
        desk.observe("b", () -> office.register(unknown, 0));
        desk.observe("c", () -> office.service.rateFor(unknown.region));
        desk.observe("d", () -> office.service.calculateTax(unknown.amount, unknown.region));
    }

    /** What the reader sees meanwhile may be old or new, so only its end is observed. */
    private static void start(Desk desk, Wires.Register store, String name, Runnable code) {
        desk.actor(name, "a", () -> {
            try {
                code.run();
                return true;
            } finally {
                store.passed();
            }
        });
    }

    /** An amount and the rates that a region has one after the other. */
    private record Entry(String region, BigDecimal amount, List<BigDecimal> rates) {
        List<LineItem> lines() {
            return List.of(new LineItem("L", 1, amount), new LineItem("M", 1, amount));
        }

        Customer customer() {
            return new Customer("C", "N", "c@example.org", region);
        }
    }

    /** A service over a store, and what is to be registered. */
    private static final class Office {
        final TaxService service;
        final List<Entry> entries = new ArrayList<>();

        Office(Desk desk, TaxRateRepository store) {
            this.service = new TaxService(store);
            for (String entry : desk.text("cases").split(";")) {
                String[] parts = entry.split("\\*");
                List<BigDecimal> rates = new ArrayList<>();
                for (String rate : parts[1].split(",")) {
                    rates.add(Wires.amount(rate));
                }
                entries.add(new Entry(desk.text("region") + entries.size(), Wires.amount(parts[0]), rates));
            }
        }

        boolean register(Entry entry, int which) {
            service.registerRate(new TaxRate(entry.region, entry.rates.get(which)));
            return true;
        }
    }
}
