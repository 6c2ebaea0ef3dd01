package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Plan;
import com.acme.billing.model.Proration;
import com.acme.billing.model.Subscription;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.PlanRepository;
import com.acme.billing.repository.SubscriptionRepository;
import com.acme.billing.service.SubscriptionService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;

public final class SubscriptionServiceTest {

    private final SubscriptionRepository subscriptions = new SubscriptionRepository();
    private final List<String> sent = new ArrayList<>();
    private final SubscriptionService service;

    public SubscriptionServiceTest() {
        PlanRepository plans = new PlanRepository();
        plans.save(new Plan("basic", "Basic", new BigDecimal("30.00")));
        plans.save(new Plan("team", "Team", new BigDecimal("90.00")));
        CustomerRepository customers = new CustomerRepository();
        customers.save(new Customer("cus-1", "Ada", "ada@example.org", "north"));
        subscriptions.save(new Subscription("sub-1", "cus-1", "basic",
            LocalDate.of(2023, 4, 1), LocalDate.of(2023, 4, 30)));
        service = new SubscriptionService(subscriptions, plans, customers,
            (email, topic, subject) -> sent.add(email + " " + topic + " " + subject));
    }

    @Test
    public void upgradeOnTheFirstDayCostsTheWholeDifference() {
        Proration proration = service.prorate("sub-1", "team", LocalDate.of(2023, 4, 1));
        assertAmount("58.00", proration.net());
    }

    @Test
    public void changePlanMovesTheSubscriptionAndTellsTheCustomer() {
        service.changePlan("sub-1", "team", LocalDate.of(2023, 4, 10));
        assertEquals("team", subscriptions.require("sub-1").planId());
        assertEquals(List.of("ada@example.org plan-changed sub-1"), sent);
    }

    @Test
    public void refusesDaysOutsideThePeriod() {
        assertThrows(BillingException.class,
            () -> service.prorate("sub-1", "team", LocalDate.of(2023, 5, 1)));
    }
}
