package com.acme.billing.service;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Proration;
import com.acme.billing.notify.Notifier;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.PlanRepository;
import com.acme.billing.repository.SubscriptionRepository;
import java.time.LocalDate;

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
        throw new BillingException("refused");
    }

    /** Puts the subscription on another plan from {@code changeDate} on and tells the customer. */
    public Proration changePlan(String subscriptionId, String newPlanId, LocalDate changeDate) {
        throw new BillingException("refused");
    }
}
