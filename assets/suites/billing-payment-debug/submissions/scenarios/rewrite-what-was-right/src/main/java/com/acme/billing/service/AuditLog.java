package com.acme.billing.service;

import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What was done, in the order in which it was done. Entries are only ever added. */
public class AuditLog {

    /**
     * One thing that was done.
     *
     * @param number  counts from one, without gaps
     * @param action  what was done, such as {@code credit-note-issued}
     * @param subject id of the thing that it was done to
     */
    public record Entry(long number, Instant at, String action, String subject) {
    }

    private final Clock clock;
    private final List<Entry> entries = new ArrayList<>();

    public AuditLog(Clock clock) {
        this.clock = clock;
    }

    /** Adds an entry. Clocks are set back at times; the log's times are not. */
    public Entry write(String action, String subject) {
        long number = entries.size() + 1;
        Instant at = clock.instant();
        if (!entries.isEmpty()) {
            Instant before = entries.get(entries.size() - 1).at();
            at = at.isBefore(before) ? before : at;
        }
        Entry entry = new Entry(number, at, action, subject);
        entries.add(entry);
        return entry;
    }

    /** Returns all entries up to now. */
    public synchronized List<Entry> entries() {
        return List.copyOf(entries);
    }

    /** Returns the entries about one subject. */
    public List<Entry> about(String subject) {
        return entries().stream().filter(entry -> entry.subject().equals(subject)).toList();
    }
}
