package warmup;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Compiled once while the image is built: the classes that javac loads for it go into the archive
 * that later compilers start from. It uses the language, it does nothing.
 */
public final class Warmup {
    sealed interface Shape permits Circle, Square {}

    record Circle(BigDecimal radius) implements Shape {}

    record Square(BigDecimal side) implements Shape {
        Square {
            if (side.signum() < 0) {
                throw new IllegalArgumentException("negative " + side);
            }
        }
    }

    enum Unit {
        METRE("m"),
        FOOT("ft");

        private final String symbol;

        Unit(String symbol) {
            this.symbol = symbol;
        }
    }

    private final Map<String, List<Shape>> shapes = new ConcurrentHashMap<>();
    private int[] counts = {1, 2, 3};

    synchronized <T extends Comparable<T>> Optional<T> largest(List<? extends T> items) {
        T best = null;
        for (T item : items) {
            best = best == null || item.compareTo(best) > 0 ? item : best;
        }
        return Optional.ofNullable(best);
    }

    String describe(Object value, Unit unit) {
        var text = new StringBuilder();
        if (value instanceof Circle circle) {
            text.append(circle.radius()).append(unit.symbol);
        }
        int size = switch (unit) {
            case METRE -> 1;
            case FOOT -> {
                counts[0]++;
                yield 2;
            }
        };
        try (AutoCloseable resource = () -> shapes.clear()) {
            do {
                size += resource.hashCode() % 2;
            } while (size < 0);
        } catch (IllegalStateException | UnsupportedOperationException failure) {
            throw failure;
        } catch (Exception failure) {
            text.append("""
                failed: %s
                """.formatted(failure));
        } finally {
            counts = new int[] {size};
        }
        Function<Shape, String> name = Object::toString;
        return shapes.values().stream()
                .flatMap(List::stream)
                .map(name)
                .filter(line -> !line.isEmpty())
                .collect(Collectors.joining(",", text, ""));
    }

    abstract static class Base<T> {
        abstract T make();

        class Inner {
            List<T> all() {
                return new ArrayList<>(List.of(make()));
            }
        }
    }

    final Base<Long> base = new Base<>() {
        @Override
        Long make() {
            return (long) counts.length << 3;
        }
    };
}
