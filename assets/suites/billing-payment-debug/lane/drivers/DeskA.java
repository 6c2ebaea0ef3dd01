package drivers;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Plan;
import com.acme.billing.model.Proration;
import com.acme.billing.model.Subscription;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.PlanRepository;
import com.acme.billing.repository.SubscriptionRepository;
import com.acme.billing.service.SubscriptionService;
import gradekeeper.kit.Desk;
import java.time.LocalDate;
import java.util.TimeZone;

/**
 * Changes plans. Input {@code cases}: {@code old price|new price|first day|last day|change date}, separated by
 * semicolons; every case gets subscriptions and plans of its own, named after the inputs {@code sub} and {@code plan}.
 */
public final class DeskA {

    static {
        Desk.observeAs(BillingException.class);
        // days do not depend on where the process runs, nor on its clocks
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    }

    private DeskA() {
    }

    public static void m01(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (Case one : office.cases()) {
            desk.observe("a", () -> office.quote(one));
            desk.observe("b", () -> office.quote(one).net());
            desk.observe("s", () -> office.quote(one).credit().scale());
            desk.observe("s", () -> office.quote(one).charge().scale());
        }
    }

    public static void m02(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (Case one : office.cases()) {
            desk.observe("a", () -> office.change(one));
            desk.observe("d", () -> office.subscriptions.require(one.subscription));
        }
    }

    public static void m03(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (Case one : office.cases()) {
            desk.observe("e", () -> office.change(one).periodDays());
            desk.observe("d", () -> office.subscriptions.require(one.subscription));
        }
    }

    public static void m04(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (Case one : office.cases()) {
            desk.observe("b", () -> office.quote(one).net());
            desk.observe("e", () -> office.quote(one).periodDays());
        }
    }

    public static void m05(Desk desk) throws Exception {
        Office office = new Office(desk);
        for (Case one : office.cases()) {
            String sub = one.subscription;
            desk.observe("f", () -> office.service.changePlan(sub, one.oldPlan, one.day).periodDays());
            desk.observe("f", () -> office.service.changePlan(sub, desk.text("other"), one.day).periodDays());
            desk.observe("f", () -> office.service.changePlan(desk.text("other"), one.newPlan, one.day).periodDays());
            desk.observe("d", () -> office.subscriptions.require(sub));
            desk.observe("f", () -> office.change(one).periodDays());
            desk.observe("d", () -> office.subscriptions.require(sub));
        }
    }

    /** One line of the input. */
    private record Case(String subscription, String oldPlan, String newPlan, LocalDate day) {
    }

    /** A service with everything that it works on. */
    private static final class Office {
        final Desk desk;
        final SubscriptionRepository subscriptions = new SubscriptionRepository();
        final PlanRepository plans = new PlanRepository();
        final CustomerRepository customers = new CustomerRepository();
        final SubscriptionService service;

        Office(Desk desk) {
            this.desk = desk;
            this.service = new SubscriptionService(subscriptions, plans, customers, Wires.notifier(desk));
        }

        Case[] cases() {
            String[] lines = desk.text("cases").split(";");
            Case[] cases = new Case[lines.length];
            customers.save(new Customer(desk.text("cus"), "N", desk.text("cus") + "@example.org", "R"));
            for (int i = 0; i < lines.length; i++) {
                String[] f = lines[i].split("\\|");
                Case one = new Case(desk.text("sub") + i, desk.text("plan") + i, desk.text("plan") + i + "x",
                    LocalDate.parse(f[4]));
                plans.save(new Plan(one.oldPlan, "O", Wires.amount(f[0])));
                plans.save(new Plan(one.newPlan, "N", Wires.amount(f[1])));
                subscriptions.save(new Subscription(one.subscription, desk.text("cus"), one.oldPlan,
                    LocalDate.parse(f[2]), LocalDate.parse(f[3])));
                cases[i] = one;
            }
            return cases;
        }

        Proration quote(Case one) {
            return service.prorate(one.subscription, one.newPlan, one.day);
        }

        Proration change(Case one) {
            return service.changePlan(one.subscription, one.newPlan, one.day);
        }
    }
}
