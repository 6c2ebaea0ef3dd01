package com.acme.billing.service;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/** Runs work about named things: no two pieces of work that share a name overlap. Names are taken all at once. */
final class Turns {

    private final Set<String> taken = new HashSet<>();

    <T> T with(Supplier<T> work, String... names) {
        List<String> wanted = List.of(names);
        synchronized (taken) {
            boolean interrupted = false;
            while (wanted.stream().anyMatch(taken::contains)) {
                try {
                    taken.wait();
                } catch (InterruptedException told) {
                    interrupted = true;
                }
            }
            taken.addAll(wanted);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        try {
            return work.get();
        } finally {
            synchronized (taken) {
                wanted.forEach(taken::remove);
                taken.notifyAll();
            }
        }
    }
}
