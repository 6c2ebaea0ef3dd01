package gradekeeper.kit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The small part of JSON that the run protocol needs, without any library on the class path.
 *
 * <p>Reading is strict: one value, nothing after it, no duplicate keys, integers only. A value is
 * null, Boolean, Long, String, List or Map. Writing is ASCII, whatever the platform's encoding.
 */
final class Json {
    private static final int MAX_DEPTH = 32;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads one object.
     *
     * @throws IllegalArgumentException the text is anything else
     */
    static Map<?, ?> readObject(String text) {
        Json json = new Json(text);
        json.blanks();
        Object value = json.value(0);
        json.blanks();
        if (json.at != text.length() || !(value instanceof Map)) {
            throw new IllegalArgumentException("not one JSON object");
        }
        return (Map<?, ?>) value;
    }

    /** Appends a JSON string. */
    static void quote(StringBuilder out, String value) {
        out.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c >= ' ' && c <= '~') {
                out.append(c);
            } else {
                out.append("\\u");
                for (int shift = 12; shift >= 0; shift -= 4) {
                    out.append("0123456789abcdef".charAt(c >> shift & 15));
                }
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw bad();
        }
        switch (peek()) {
            case '{':
                return object(depth);
            case '[':
                return list(depth);
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return integer();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        blanks();
        if (taken('}')) {
            return members;
        }
        do {
            blanks();
            String key = string();
            blanks();
            expect(':');
            blanks();
            Object value = value(depth + 1);
            if (members.containsKey(key)) {
                throw bad();
            }
            members.put(key, value);
            blanks();
        } while (taken(','));
        expect('}');
        return members;
    }

    private List<Object> list(int depth) {
        List<Object> items = new ArrayList<>();
        at++;
        blanks();
        if (taken(']')) {
            return items;
        }
        do {
            blanks();
            items.add(value(depth + 1));
            blanks();
        } while (taken(','));
        expect(']');
        return items;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        expect('"');
        for (;;) {
            char c = take();
            if (c == '"') {
                return out.toString();
            }
            if (c < ' ') {
                throw bad();
            }
            out.append(c == '\\' ? escape() : c);
        }
    }

    private char escape() {
        char c = take();
        switch (c) {
            case '"':
            case '\\':
            case '/':
                return c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int unit = 0;
                for (int i = 0; i < 4; i++) {
                    int digit = "0123456789abcdef0123456789ABCDEF".indexOf(take());
                    if (digit < 0) {
                        throw bad();
                    }
                    unit = unit << 4 | digit & 15;
                }
                return (char) unit;
            default:
                throw bad();
        }
    }

    private Long integer() {
        int start = at;
        taken('-');
        int digits = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == digits || at - digits > 18 || text.charAt(digits) == '0' && at - digits > 1) {
            throw bad();
        }
        return Long.valueOf(text.substring(start, at));
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw bad();
        }
        at += word.length();
        return value;
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        if (at == text.length()) {
            throw bad();
        }
        return text.charAt(at);
    }

    private char take() {
        char c = peek();
        at++;
        return c;
    }

    private boolean taken(char c) {
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) {
        if (!taken(c)) {
            throw bad();
        }
    }

    private IllegalArgumentException bad() {
        return new IllegalArgumentException("not JSON at " + at);
    }
}
