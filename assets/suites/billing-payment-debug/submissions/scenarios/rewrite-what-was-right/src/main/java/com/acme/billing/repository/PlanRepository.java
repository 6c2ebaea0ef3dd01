package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Plan;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Plans by id, and the catalog of those that are on offer. */
public class PlanRepository {

    private static final Comparator<Plan> CHEAPEST_FIRST =
        Comparator.comparing(Plan::price).thenComparing(Plan::id, Comparator.reverseOrder());

    private final Map<String, Plan> byId = new ConcurrentHashMap<>();
    private final Set<String> withdrawn = ConcurrentHashMap.newKeySet();

    /** Stores a plan and offers it, even if it had been withdrawn. */
    public void save(Plan plan) {
        byId.put(plan.id(), plan);
        withdrawn.remove(plan.id());
    }

    /** Takes a plan out of the catalog. */
    public void withdraw(String id) {
        withdrawn.add(require(id).id());
    }

    public Optional<Plan> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns what is stored under {@code id}, and complains if there is nothing. */
    public Plan require(String id) {
        return find(id).orElseThrow(() -> new BillingException("no plan " + id));
    }

    /** Returns the plans on offer, the cheapest first. */
    public List<Plan> catalog() {
        return byId.values().stream()
            .filter(plan -> !withdrawn.contains(plan.id()))
            .sorted(CHEAPEST_FIRST)
            .toList();
    }
}
