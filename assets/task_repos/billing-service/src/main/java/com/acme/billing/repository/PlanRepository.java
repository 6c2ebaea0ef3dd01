package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Plan;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Plans by id. */
public class PlanRepository {

    private final Map<String, Plan> byId = new ConcurrentHashMap<>();

    public void save(Plan plan) {
        byId.put(plan.id(), plan);
    }

    public Optional<Plan> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns what is stored under {@code id}, and complains if there is nothing. */
    public Plan require(String id) {
        return find(id).orElseThrow(() -> new BillingException("no plan " + id));
    }
}
