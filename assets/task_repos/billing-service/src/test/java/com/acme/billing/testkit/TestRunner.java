package com.acme.billing.testkit;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Runs every {@code *Test} class below a folder of compiled classes; exits with 1 if a test fails. */
public final class TestRunner {

    private int passed;
    private int failed;

    private TestRunner() {
    }

    public static void main(String[] args) throws Exception {
        TestRunner runner = new TestRunner();
        for (String name : testClasses(Path.of(args[0]))) {
            runner.run(Class.forName(name));
        }
        System.out.println(runner.passed + " passed, " + runner.failed + " failed");
        System.exit(runner.failed == 0 ? 0 : 1);
    }

    private static List<String> testClasses(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString())
                .filter(name -> name.endsWith("Test.class") && !name.contains("testkit"))
                .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                .sorted()
                .toList();
        }
    }

    private void run(Class<?> type) throws ReflectiveOperationException {
        List<Method> tests = Arrays.stream(type.getDeclaredMethods())
            .filter(method -> method.isAnnotationPresent(Test.class))
            .sorted(Comparator.comparing(Method::getName))
            .toList();
        for (Method test : tests) {
            String name = type.getSimpleName() + "." + test.getName();
            try {
                test.invoke(type.getDeclaredConstructor().newInstance());
                passed++;
                System.out.println("PASS " + name);
            } catch (InvocationTargetException e) {
                failed++;
                System.out.println("FAIL " + name + ": " + e.getCause());
            }
        }
    }
}
