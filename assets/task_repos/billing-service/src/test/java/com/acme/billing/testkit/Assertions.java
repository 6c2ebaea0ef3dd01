package com.acme.billing.testkit;

import java.math.BigDecimal;
import java.util.Objects;

/** What a test may demand. */
public final class Assertions {

    private Assertions() {
    }

    /** A piece of code that may fail. */
    @FunctionalInterface
    public interface Code {
        void run() throws Exception;
    }

    public static void assertEquals(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected <" + expected + "> but was <" + actual + ">");
        }
    }

    /** Compares an amount with all its digits: {@code 1.0} is not {@code 1.00}. */
    public static void assertAmount(String expected, BigDecimal actual) {
        assertEquals(new BigDecimal(expected), actual);
    }

    public static void assertTrue(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }

    /** Demands that {@code code} throws exactly this kind of exception, and returns it. */
    public static <T extends Throwable> T assertThrows(Class<T> type, Code code) {
        try {
            code.run();
        } catch (Throwable thrown) {
            if (type.equals(thrown.getClass())) {
                return type.cast(thrown);
            }
            throw new AssertionError("expected " + type.getName() + " but got " + thrown, thrown);
        }
        throw new AssertionError("expected " + type.getName() + " but nothing was thrown");
    }
}
