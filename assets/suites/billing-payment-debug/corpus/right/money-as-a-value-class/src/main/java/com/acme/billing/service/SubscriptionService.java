package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Cents;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Money;
import com.acme.billing.model.Plan;
import com.acme.billing.model.Proration;
import com.acme.billing.model.Subscription;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.PlanRepository;
import com.acme.billing.repository.SubscriptionRepository;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;

/** Moves subscriptions from plan to plan and works out what that costs. */
public class SubscriptionService {

    private final SubscriptionRepository subscriptions;
    private final PlanRepository plans;
    private final CustomerRepository customers;
    private final Notifier notifier;

    public SubscriptionService(SubscriptionRepository subscriptions, PlanRepository plans,
                               CustomerRepository customers, Notifier notifier) {
        this.subscriptions = subscriptions;
        this.plans = plans;
        this.customers = customers;
        this.notifier = notifier;
    }

    /**
     * Works out what a change to another plan would cost, without changing anything.
     *
     * @param changeDate first day on the new plan
     */
    public Proration prorate(String subscriptionId, String newPlanId, LocalDate changeDate) {
        Subscription subscription = subscriptions.require(subscriptionId);
        Plan oldPlan = plans.require(subscription.planId());
        Plan newPlan = plans.require(newPlanId);
        if (oldPlan.id().equals(newPlan.id())) {
            throw new BillingException("already on plan " + newPlanId);
        }
        if (!subscription.covers(changeDate)) {
            throw new BillingException("change date is outside the billing period");
        }
        long remainingDays = ChronoUnit.DAYS.between(changeDate, subscription.periodEnd()) + 1;
        long periodDays = subscription.periodDays();
        return new Proration(remainingDays, periodDays,
            share(oldPlan.price(), remainingDays, periodDays),
            share(newPlan.price(), remainingDays, periodDays));
    }

    /** Puts the subscription on another plan from {@code changeDate} on and tells the customer. */
    public Proration changePlan(String subscriptionId, String newPlanId, LocalDate changeDate) {
        Proration proration = prorate(subscriptionId, newPlanId, changeDate);
        Subscription subscription = subscriptions.require(subscriptionId);
        Customer customer = customers.require(subscription.customerId());
        subscriptions.save(subscription.withPlan(newPlanId));
        notifier.send(customer.email(), "plan-changed", subscriptionId);
        return proration;
    }

    private static BigDecimal share(BigDecimal price, long days, long ofDays) {
        return Cents.nearest(price.multiply(new BigDecimal(days)), ofDays).toDecimal();
    }
}
