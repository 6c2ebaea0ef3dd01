import gradekeeper.kit.Desk;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Runs the tests of one group one after another in this JVM and prints a signed line for each, as a
 * runner inside the submission's own process does: {@code java Sequential GROUP-FILE}, key on stdin.
 * Nothing is judged: what is measured is time.
 */
public final class Sequential {

    private record Case(String id, String method, Map<String, String> inputs, Map<String, Desk.Double> doubles) {
    }

    private Sequential() {
    }

    public static void main(String[] arguments) throws Exception {
        String key = new Scanner(System.in, StandardCharsets.UTF_8).nextLine();
        List<String> lines = Files.readAllLines(Path.of(arguments[0]));
        Class<?> driver = Class.forName(lines.get(0));
        ExecutorService executor = Executors.newCachedThreadPool();
        for (Case one : cases(lines)) {
            String status;
            try {
                executor.submit(() -> driver.getMethod(one.method(), Desk.class)
                    .invoke(null, new Desk(one.inputs(), one.doubles()))).get(20, TimeUnit.SECONDS);
                status = "PASS";
            } catch (Exception failed) {
                status = "FAIL";
            }
            byte[] signed = MessageDigest.getInstance("SHA-256")
                .digest((key + "|" + status + "|" + one.id()).getBytes(StandardCharsets.UTF_8));
            System.out.println("RESULT " + HexFormat.of().formatHex(signed) + " " + status + " " + one.id());
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static List<Case> cases(List<String> lines) {
        List<Case> cases = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "test" -> cases.add(new Case(words[1], words[2], new HashMap<>(), new HashMap<>()));
                case "input" -> cases.get(cases.size() - 1).inputs().put(words[1],
                    new String(Base64.getDecoder().decode(words[2]), StandardCharsets.UTF_8));
                case "double" -> cases.get(cases.size() - 1).doubles().put(words[1], new Desk.Double(
                    List.of(words[2].split(",")), Boolean.parseBoolean(words[3]), Long.parseLong(words[4])));
                default -> throw new IllegalArgumentException(line);
            }
        }
        return cases;
    }
}
