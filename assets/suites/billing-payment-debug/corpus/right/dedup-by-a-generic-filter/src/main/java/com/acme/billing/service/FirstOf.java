package com.acme.billing.service;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Keeps of values with equal keys the first one. */
final class FirstOf<K, V> {

    private final Map<K, V> seen = new HashMap<>();
    private final List<V> kept = new ArrayList<>();

    private FirstOf() {
    }

    static <K, V> List<V> each(Iterable<? extends V> values, Function<? super V, ? extends K> key) {
        FirstOf<K, V> filter = new FirstOf<>();
        for (V value : values) {
            filter.offer(key.apply(value), value);
        }
        return List.copyOf(filter.kept);
    }

    private void offer(K key, V value) {
        seen.computeIfAbsent(key, first -> {
            kept.add(value);
            return value;
        });
    }
}
