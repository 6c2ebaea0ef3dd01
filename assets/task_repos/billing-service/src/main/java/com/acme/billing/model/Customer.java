package com.acme.billing.model;

import java.util.Objects;

/**
 * Somebody who is billed.
 *
 * @param region key of the tax rate that applies to this customer
 */
public record Customer(String id, String name, String email, String region) {

    public Customer {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(email, "email");
    }
}
