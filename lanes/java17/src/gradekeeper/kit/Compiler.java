package gradekeeper.kit;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticListener;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles a folder of sources in memory and streams the class files (docs/protocols.md, "The
 * compiler").
 *
 * <p>javac finds nothing but the JDK and the given sources: class path, source path and processor
 * path are empty, so neither an annotation processor nor a plug-in of the submission can run. A
 * {@code module-info.java} is compiled with the rest; runs have a class path, where it says nothing.
 * Nothing is written to a file system. Ends with 0 after {@code OK}, 1 after {@code ERRORS}, 2 if
 * called wrongly.
 */
public final class Compiler {
    private static final int MAX_DIAGNOSTICS = 100;
    private static final int MAX_FILE_NAME = 255;
    private static final String TOO_DEEP =
            "error: the sources nest deeper than the compiler's stack allows";

    private Compiler() {}

    /** Takes {@code --release N ROOT}. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 3 || !arguments[0].equals("--release")) {
            System.err.println("usage: Compiler --release N SOURCES_ROOT");
            System.exit(2);
        }
        FileOutputStream output = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        int status;
        try {
            status = compile(arguments[1], Path.of(arguments[2]), answer);
        } catch (IOException unreadable) {
            throw unreadable;
        } catch (StackOverflowError tooDeep) {
            System.err.println(TOO_DEEP);
            status = errors(answer, 1);
        } catch (RuntimeException failure) {
            // Sources can make javac itself fail, by nesting for example: that is their fault.
            System.err.println("error: the compiler failed: " + failure.getClass().getName());
            status = errors(answer, 1);
        }
        answer.writeTo(output);
        // Nothing is left to do, and a compiler's clean-up is not worth its time.
        Runtime.getRuntime().halt(status);
    }

    private static int compile(String release, Path root, ByteArrayOutputStream answer)
            throws IOException {
        List<Source> sources = new ArrayList<>();
        int refused = read(root, sources);
        if (refused > 0) {
            return errors(answer, refused);
        }
        if (sources.isEmpty()) {
            System.err.println("error: there are no sources");
            return errors(answer, 1);
        }
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        Errors errors = new Errors();
        StringWriter own = new StringWriter();
        try (Memory memory = new Memory(
                javac.getStandardFileManager(errors, Locale.ROOT, StandardCharsets.UTF_8))) {
            // Debug information as javac gives it by itself: names of variables would take places
            // in a class's table of constants that its author counted on.
            List<String> options = List.of(
                    "--release", release, "-proc:none", "-implicit:none", "-nowarn",
                    "-Xmaxerrs", Integer.toString(MAX_DIAGNOSTICS));
            boolean compiled = javac.getTask(own, memory, errors, options, null, sources).call();
            if (compiled) {
                memory.writeTo(answer);
                return 0;
            }
        }
        if (errors.count == 0) {
            // javac reports what it fails by itself as a defect of its own, with a long trace.
            String trace = own.toString();
            System.err.println(trace.contains("java.lang.StackOverflowError")
                    ? TOO_DEEP
                    : "error: the compiler failed: " + trace.strip().lines().findFirst().orElse(""));
        }
        return errors(answer, Math.max(errors.count, 1));
    }

    /** Writes errors as they come, and keeps nothing: of warnings there may be any number. */
    private static final class Errors implements DiagnosticListener<JavaFileObject> {
        private int count;

        @Override
        public void report(Diagnostic<? extends JavaFileObject> diagnostic) {
            if (diagnostic.getKind() != Diagnostic.Kind.ERROR) {
                return;
            }
            count++;
            JavaFileObject source = diagnostic.getSource();
            System.err.println((source == null ? "" : source.getName() + ":")
                    + diagnostic.getLineNumber() + ": error: "
                    + diagnostic.getMessage(Locale.ROOT));
        }
    }

    private static int errors(ByteArrayOutputStream answer, int count) {
        answer.reset();
        answer.writeBytes(("ERRORS " + count + "\n").getBytes(StandardCharsets.US_ASCII));
        return 1;
    }

    /** Collects regular *.java files, in the order of their names. Returns how many are refused. */
    private static int read(Path root, List<Source> sources) throws IOException {
        Map<String, Path> files = new TreeMap<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String name = root.relativize(file).toString();
                if (attributes.isRegularFile() && name.endsWith(".java")) {
                    files.put(name, file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        int refused = 0;
        for (Map.Entry<String, Path> file : files.entrySet()) {
            try {
                byte[] bytes = Files.readAllBytes(file.getValue());
                sources.add(new Source(file.getKey(), StandardCharsets.UTF_8.newDecoder()
                        .decode(ByteBuffer.wrap(bytes)).toString()));
            } catch (CharacterCodingException notText) {
                System.err.println(file.getKey() + ": error: not UTF-8");
                refused++;
            }
        }
        return refused;
    }

    private static URI uri(String path) {
        try {
            return new URI("memory", null, "/" + path, null);
        } catch (URISyntaxException impossible) {
            throw new IllegalArgumentException(impossible);
        }
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String path;
        private final String text;

        Source(String path, String text) {
            super(uri(path), Kind.SOURCE);
            this.path = path;
            this.text = text;
        }

        @Override
        public String getName() {
            return path;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    private static final class Output extends SimpleJavaFileObject {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Output(String path) {
            super(uri(path), Kind.CLASS);
        }

        @Override
        public OutputStream openOutputStream() {
            return bytes;
        }
    }

    /** Takes class files into memory and offers nothing to read but the JDK. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, Output> classes = new TreeMap<>();

        Memory(StandardJavaFileManager files) throws IOException {
            super(files);
            files.setLocation(StandardLocation.CLASS_PATH, List.of());
            files.setLocation(StandardLocation.SOURCE_PATH, List.of());
            files.setLocation(StandardLocation.ANNOTATION_PROCESSOR_PATH, List.of());
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling)
                throws IOException {
            if (kind != JavaFileObject.Kind.CLASS) {
                throw new IOException("no place for " + kind);
            }
            String path = name.replace('.', '/') + ".class";
            for (String piece : path.split("/")) {
                // As where javac writes files: it then reports this as an error of the class.
                if (piece.getBytes(StandardCharsets.UTF_8).length > MAX_FILE_NAME) {
                    throw new IOException(piece.substring(0, 20) + "...: a file name has at most "
                            + MAX_FILE_NAME + " bytes");
                }
            }
            return classes.computeIfAbsent(path, Output::new);
        }

        @Override
        public boolean contains(Location location, FileObject file) throws IOException {
            // Asked for the sources of a module; all of them are where they should be.
            return file instanceof Source || super.contains(location, file);
        }

        @Override
        public FileObject getFileForOutput(
                Location location, String packageName, String relative, FileObject sibling)
                throws IOException {
            throw new IOException("no place for " + relative);
        }

        void writeTo(ByteArrayOutputStream answer) {
            for (Map.Entry<String, Output> file : classes.entrySet()) {
                byte[] bytes = file.getValue().bytes.toByteArray();
                answer.writeBytes(("C " + file.getKey() + " " + bytes.length + "\n")
                        .getBytes(StandardCharsets.UTF_8));
                answer.writeBytes(bytes);
            }
            answer.writeBytes(("OK " + classes.size() + "\n").getBytes(StandardCharsets.US_ASCII));
        }
    }
}
