package gradekeeper.kit;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Observed values in their canonical written form (docs/protocols.md, "Values").
 *
 * <p>Only exact JDK classes are looked into: a subclass of BigDecimal or a List of the submission
 * could say one thing to this class and another to its caller. What is of any other class, and what
 * is too deep or too large, is written as opaque with its class name.
 */
final class Values {
    private static final int MAX_DEPTH = 6;
    private static final int MAX_ELEMENTS = 1000;
    /** Written characters of one line: below the 64 KiB of the protocol with room for the rest. */
    private static final int MAX_CHARACTERS = 48 * 1024;
    private static final int MAX_DIGITS = 64;
    private static final int MAX_NAME = 256;

    private final StringBuilder out = new StringBuilder();
    private int elements = MAX_ELEMENTS;

    private Values() {}

    /** One value. */
    static String write(Object value) {
        Values values = new Values();
        values.write(value, 0);
        return values.out.toString();
    }

    /** The arguments of a call, as a list. */
    static String writeAll(Object[] arguments) {
        Values values = new Values();
        values.out.append('[');
        for (int i = 0; i < arguments.length; i++) {
            values.out.append(i == 0 ? "" : ",");
            values.write(arguments[i], 1);
        }
        return values.out.append(']').toString();
    }

    /** A class name, cut to what the protocol takes. */
    static String name(Class<?> type) {
        String name = type.getName();
        if (name.length() <= MAX_NAME) {
            return name;
        }
        // Never between the two halves of a letter, which no reader takes apart.
        boolean halves = Character.isHighSurrogate(name.charAt(MAX_NAME - 1));
        return name.substring(0, halves ? MAX_NAME - 1 : MAX_NAME);
    }

    private void write(Object value, int depth) {
        int start = out.length();
        boolean written = false;
        try {
            written = --elements >= 0 && writeKnown(value, depth) && out.length() < MAX_CHARACTERS;
        } catch (Exception | StackOverflowError error) {
            // Iterating and reading components may run code of the submission: its failure is ours
            // to survive, and "opaque" is a different observation than any value.
            written = false;
        }
        if (!written) {
            out.setLength(start);
            opaque(value);
        }
    }

    /** Returns false if the value has no written form; what was appended by then is dropped. */
    private boolean writeKnown(Object value, int depth) throws ReflectiveOperationException {
        if (value == null || value.getClass() == Boolean.class) {
            out.append(value);
            return true;
        }
        Class<?> type = value.getClass();
        if (type == String.class) {
            if (((String) value).length() > MAX_CHARACTERS) {
                return false;
            }
            Json.quote(out, (String) value);
            return true;
        }
        if (type == Integer.class || type == Long.class || type == Short.class
                || type == Byte.class) {
            return tagged("int", value.toString());
        }
        if (type == BigInteger.class) {
            // About 3.3 bits a digit: decided before a huge number is converted.
            return ((BigInteger) value).bitLength() <= 213 && integer(value.toString());
        }
        if (type == BigDecimal.class) {
            return decimal((BigDecimal) value);
        }
        if (value instanceof Enum) {
            Enum<?> constant = (Enum<?>) value;
            return named("enum", constant.getDeclaringClass().getSimpleName(), constant.name());
        }
        boolean ofJdk = type.getClassLoader() == null;
        if (ofJdk && type.getName().startsWith("java.time.")) {
            return named("time", type.getName(), value.toString());
        }
        if (depth >= MAX_DEPTH) {
            return false;
        }
        if (ofJdk && value instanceof List && type.getName().startsWith("java.util.")) {
            return list((List<?>) value, depth);
        }
        if (ofJdk && value instanceof Map && type.getName().startsWith("java.util.")) {
            return map((Map<?, ?>) value, depth);
        }
        return type.isRecord() && record(value, type, depth);
    }

    private void opaque(Object value) {
        named("opaque", name(value == null ? Object.class : value.getClass()), null);
    }

    private boolean tagged(String tag, String text) {
        out.append("{\"t\":\"").append(tag).append("\",\"v\":\"").append(text).append("\"}");
        return true;
    }

    private boolean named(String tag, String name, String text) {
        if (name.length() > MAX_NAME || text != null && text.length() > MAX_CHARACTERS) {
            return false;
        }
        out.append("{\"t\":\"").append(tag).append("\",\"c\":");
        Json.quote(out, name);
        if (text != null) {
            out.append(",\"v\":");
            Json.quote(out, text);
        }
        out.append('}');
        return true;
    }

    private boolean integer(String text) {
        int digits = text.length() - (text.charAt(0) == '-' ? 1 : 0);
        return digits <= MAX_DIGITS && tagged("int", text);
    }

    /** Without an exponent: every reader takes that, and the text of a number is its value. */
    private boolean decimal(BigDecimal value) {
        if (value.precision() > MAX_DIGITS || Math.abs((long) value.scale()) > MAX_DIGITS) {
            return false;
        }
        String text = value.toPlainString();
        int digits = 0;
        for (int i = 0; i < text.length(); i++) {
            digits += text.charAt(i) >= '0' && text.charAt(i) <= '9' ? 1 : 0;
        }
        return digits <= MAX_DIGITS && tagged("dec", text);
    }

    private boolean list(List<?> items, int depth) {
        out.append('[');
        boolean first = true;
        for (Object item : items) {
            if (elements <= 0) {
                return false;
            }
            out.append(first ? "" : ",");
            first = false;
            write(item, depth + 1);
        }
        out.append(']');
        return true;
    }

    /** Sorted by the written key: the order of a hash map is nobody's behaviour. */
    private boolean map(Map<?, ?> entries, int depth) {
        Map<String, List<String>> sorted = new TreeMap<>();
        int start = out.length();
        for (Map.Entry<?, ?> entry : entries.entrySet()) {
            if (elements <= 0) {
                return false;
            }
            String key = apart(entry.getKey(), depth);
            sorted.computeIfAbsent(key, any -> new ArrayList<>())
                    .add("[" + key + "," + apart(entry.getValue(), depth) + "]");
        }
        out.setLength(start);
        out.append("{\"t\":\"map\",\"v\":[");
        for (Iterator<List<String>> same = sorted.values().iterator(); same.hasNext(); ) {
            List<String> pairs = same.next();
            pairs.sort(null);
            out.append(String.join(",", pairs)).append(same.hasNext() ? "," : "");
        }
        out.append("]}");
        return true;
    }

    /** Writes a value and takes it away from the end of the text again. */
    private String apart(Object value, int depth) {
        int start = out.length();
        write(value, depth + 1);
        String text = out.substring(start);
        out.setLength(start);
        return text;
    }

    private boolean record(Object value, Class<?> type, int depth)
            throws ReflectiveOperationException {
        String name = type.getSimpleName();
        if (name.length() > MAX_NAME) {
            return false;
        }
        out.append("{\"t\":");
        Json.quote(out, name);
        out.append(",\"f\":{");
        boolean first = true;
        for (RecordComponent component : type.getRecordComponents()) {
            if (elements <= 0 || component.getName().length() > MAX_NAME) {
                return false;
            }
            out.append(first ? "" : ",");
            first = false;
            Json.quote(out, component.getName());
            out.append(':');
            Method accessor = component.getAccessor();
            accessor.setAccessible(true);
            write(accessor.invoke(value), depth + 1);
        }
        out.append("}}");
        return true;
    }
}
