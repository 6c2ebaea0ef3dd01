import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.ToolProvider;

/**
 * Takes the behaviour out of Java sources: every method of the named files gets a body that answers
 * with an empty value of its type, or one that refuses. Constructors stay.
 *
 * <p>{@code java Peers.java defaults|throws FOLDER FILE...}; files are relative to the folder and
 * changed in place; records and enums of the whole folder are known.
 */
public final class Peers {

    private static final Map<String, String> EMPTY = Map.ofEntries(
        Map.entry("String", "\"\""), Map.entry("CharSequence", "\"\""),
        Map.entry("boolean", "false"), Map.entry("char", "'\\0'"),
        Map.entry("byte", "(byte) 0"), Map.entry("short", "(short) 0"), Map.entry("int", "0"),
        Map.entry("long", "0L"), Map.entry("float", "0f"), Map.entry("double", "0d"),
        Map.entry("Boolean", "false"), Map.entry("Integer", "0"), Map.entry("Long", "0L"),
        Map.entry("Double", "0d"),
        Map.entry("BigDecimal", "java.math.BigDecimal.ZERO"),
        Map.entry("BigInteger", "java.math.BigInteger.ZERO"),
        Map.entry("Optional", "java.util.Optional.empty()"),
        Map.entry("OptionalInt", "java.util.OptionalInt.empty()"),
        Map.entry("OptionalLong", "java.util.OptionalLong.empty()"),
        Map.entry("Iterable", "new java.util.ArrayList<>()"),
        Map.entry("Collection", "new java.util.ArrayList<>()"),
        Map.entry("List", "new java.util.ArrayList<>()"),
        Map.entry("Set", "new java.util.HashSet<>()"),
        Map.entry("SortedSet", "new java.util.TreeSet<>()"),
        Map.entry("Map", "new java.util.HashMap<>()"),
        Map.entry("SortedMap", "new java.util.TreeMap<>()"),
        Map.entry("NavigableMap", "new java.util.TreeMap<>()"),
        Map.entry("Stream", "java.util.stream.Stream.empty()"),
        Map.entry("Duration", "java.time.Duration.ZERO"),
        Map.entry("Instant", "java.time.Instant.EPOCH"),
        Map.entry("LocalDate", "java.time.LocalDate.EPOCH"));
    private static final int DEEPEST = 4;

    private record Made(String name, List<String> components) { }

    /** Simple name of a record of the sources -> its full name and the types of its components. */
    private final Map<String, Made> records = new HashMap<>();
    /** Simple name of an enum of the sources -> its first constant, with its full name. */
    private final Map<String, String> enums = new HashMap<>();
    private final boolean refuse;

    private Peers(boolean refuse) {
        this.refuse = refuse;
    }

    /** Changes the named files. */
    public static void main(String[] arguments) throws IOException {
        Peers peers = new Peers(arguments[0].equals("throws"));
        Path root = Path.of(arguments[1]);
        List<Path> all;
        try (Stream<Path> found = Files.walk(root)) {
            all = found.filter(path -> path.toString().endsWith(".java")).sorted().toList();
        }
        JavacTask task = parser(all);
        SourcePositions positions = Trees.instance(task).getSourcePositions();
        Map<Path, CompilationUnitTree> units = new TreeMap<>();
        for (CompilationUnitTree unit : task.parse()) {
            units.put(Path.of(unit.getSourceFile().toUri()), unit);
            peers.learn(unit);
        }
        for (int place = 2; place < arguments.length; place++) {
            Path file = root.resolve(arguments[place]).toAbsolutePath();
            String text = Files.readString(file, StandardCharsets.UTF_8);
            Files.writeString(file, peers.emptied(text, units.get(file), positions));
        }
    }

    private static JavacTask parser(List<Path> files) {
        var compiler = ToolProvider.getSystemJavaCompiler();
        var manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        var objects = manager.getJavaFileObjectsFromPaths(
            files.stream().map(Path::toAbsolutePath).toList());
        return (JavacTask) compiler.getTask(null, manager, null, List.of("-proc:none"), null, objects);
    }

    private void learn(CompilationUnitTree unit) {
        String inside = unit.getPackageName() == null ? "" : unit.getPackageName() + ".";
        for (Tree type : unit.getTypeDecls()) {
            learn(type, inside);
        }
    }

    private void learn(Tree tree, String inside) {
        if (!(tree instanceof ClassTree type)) {
            return;
        }
        String name = type.getSimpleName().toString();
        if (type.getKind() == Tree.Kind.RECORD) {
            List<String> components =
                fields(type, false).map(field -> simple(field.getType())).toList();
            records.put(name, new Made(inside + name, components));
        } else if (type.getKind() == Tree.Kind.ENUM) {
            fields(type, true).findFirst()
                .ifPresent(field -> enums.put(name, inside + name + "." + field.getName()));
        }
        for (Tree member : type.getMembers()) {
            learn(member, inside + name + ".");
        }
    }

    private static Stream<VariableTree> fields(ClassTree type, boolean isStatic) {
        return type.getMembers().stream()
            .filter(VariableTree.class::isInstance)
            .map(VariableTree.class::cast)
            .filter(field -> field.getModifiers().getFlags().contains(Modifier.STATIC) == isStatic);
    }

    private String emptied(String text, CompilationUnitTree unit, SourcePositions positions) {
        record Cut(int start, int end, String body) { }
        List<Cut> cuts = new ArrayList<>();
        new TreeScanner<Void, Void>() {
            @Override
            public Void visitMethod(MethodTree method, Void none) {
                if (method.getReturnType() == null || method.getBody() == null) {
                    return null;
                }
                cuts.add(new Cut(
                    (int) positions.getStartPosition(unit, method.getBody()),
                    (int) positions.getEndPosition(unit, method.getBody()),
                    body(method.getReturnType())));
                return null;
            }
        }.scan(unit, null);
        cuts.sort(Comparator.comparingInt(Cut::start).reversed());
        StringBuilder changed = new StringBuilder(text);
        for (Cut cut : cuts) {
            changed.replace(cut.start(), cut.end(), cut.body());
        }
        return changed.toString();
    }

    private String body(Tree type) {
        if (refuse) {
            return "{ throw new IllegalStateException(); }";
        }
        String name = type.toString();
        return name.equals("void") ? "{ }" : "{ return " + empty(simple(type), 0) + "; }";
    }

    private String empty(String type, int depth) {
        if (EMPTY.containsKey(type)) {
            return EMPTY.get(type);
        }
        if (enums.containsKey(type)) {
            return enums.get(type);
        }
        if (records.containsKey(type) && depth < DEEPEST) {
            Made made = records.get(type);
            return made.components().stream()
                .map(component -> empty(component, depth + 1))
                .collect(Collectors.joining(", ", "new " + made.name() + "(", ")"));
        }
        return "null";
    }

    private static String simple(Tree type) {
        String name = type.toString();
        if (name.endsWith("]")) {
            return name;
        }
        String raw = name.replaceAll("<.*", "").replaceAll("@\\w+\\s+", "");
        return raw.substring(raw.lastIndexOf('.') + 1);
    }
}
