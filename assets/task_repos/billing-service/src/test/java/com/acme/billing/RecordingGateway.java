package com.acme.billing;

import com.acme.billing.gateway.GatewayException;
import com.acme.billing.gateway.PaymentGateway;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A processor that writes down what it was asked for, and declines when told to. */
public final class RecordingGateway implements PaymentGateway {

    private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean declining;

    @Override
    public String charge(String customerId, BigDecimal amount) {
        return answer("charge " + customerId + " " + amount);
    }

    @Override
    public String refund(String paymentReference, BigDecimal amount) {
        return answer("refund " + paymentReference + " " + amount);
    }

    public List<String> calls() {
        return List.copyOf(calls);
    }

    public void decline(boolean decline) {
        declining = decline;
    }

    private String answer(String call) {
        calls.add(call);
        if (declining) {
            throw new GatewayException("declined");
        }
        return "ref-" + calls.size();
    }
}
