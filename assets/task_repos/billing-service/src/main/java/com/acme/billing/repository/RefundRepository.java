package com.acme.billing.repository;

import com.acme.billing.model.Refund;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** All refunds in the order in which they were made. */
public class RefundRepository {

    private final List<Refund> refunds = new CopyOnWriteArrayList<>();

    public void save(Refund refund) {
        refunds.add(refund);
    }

    public List<Refund> findByInvoice(String invoiceId) {
        return refunds.stream().filter(refund -> refund.invoiceId().equals(invoiceId)).toList();
    }
}
