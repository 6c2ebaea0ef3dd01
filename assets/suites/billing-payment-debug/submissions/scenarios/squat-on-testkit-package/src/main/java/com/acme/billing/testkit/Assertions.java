package com.acme.billing.testkit;

public final class Assertions {

    private Assertions() {
    }

    public static void assertEquals(Object expected, Object actual) {
    }
}
