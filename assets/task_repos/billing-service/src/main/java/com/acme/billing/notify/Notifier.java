package com.acme.billing.notify;

/** Tells customers what happened to their account. */
public interface Notifier {

    /**
     * Sends one message.
     *
     * @param email   where to
     * @param topic   what happened, such as {@code plan-changed}
     * @param subject id of the thing that it happened to
     */
    void send(String email, String topic, String subject);
}
