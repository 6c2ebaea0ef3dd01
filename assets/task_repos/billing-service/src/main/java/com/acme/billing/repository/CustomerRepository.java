package com.acme.billing.repository;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Customers by id. */
public class CustomerRepository {

    private final Map<String, Customer> byId = new ConcurrentHashMap<>();

    public void save(Customer customer) {
        byId.put(customer.id(), customer);
    }

    public Optional<Customer> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }

    /** Returns what is stored under {@code id}, and complains if there is nothing. */
    public Customer require(String id) {
        return find(id).orElseThrow(() -> new BillingException("no customer " + id));
    }
}
