import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Compiles many variants of a few files against the classes of the others, one after the other in
 * one process: {@code java Subsets.java CLASSES VARIANTS LIST}. Each line of LIST is a name and,
 * after blanks, the sources below VARIANTS that are compiled together under this name. Prints one
 * line for each: the name and OK, or what the compiler says; and at the end how many there were.
 */
public final class Subsets {

    private Subsets() {
    }

    /** Compiles everything that is listed. */
    public static void main(String[] arguments) throws IOException {
        Path variants = Path.of(arguments[1]);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        var standard = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        var nowhere = new ForwardingJavaFileManager<>(standard) {
            @Override
            public JavaFileObject getJavaFileForOutput(Location location, String className,
                                                       JavaFileObject.Kind kind, FileObject sibling) {
                return new SimpleJavaFileObject(URI.create("memory:///" + className.replace('$', '-')), kind) {
                    @Override
                    public java.io.OutputStream openOutputStream() {
                        return java.io.OutputStream.nullOutputStream();
                    }
                };
            }
        };
        List<String> options = List.of(
            "-proc:none", "-implicit:none", "-g:none", "-Xlint:all", "-Werror", "-cp", arguments[0]);
        int count = 0;
        try (Stream<String> lines = Files.lines(Path.of(arguments[2]))) {
            for (String line : (Iterable<String>) lines::iterator) {
                String[] words = line.split(" ");
                List<Path> sources = new ArrayList<>();
                for (int place = 1; place < words.length; place++) {
                    sources.add(variants.resolve(words[place]));
                }
                StringWriter said = new StringWriter();
                boolean compiles = compiler.getTask(said, nowhere, null, options, null,
                    standard.getJavaFileObjectsFromPaths(sources)).call();
                System.out.println(words[0] + " " + (compiles ? "OK" : said.toString().replace('\n', ' ')));
                count++;
            }
        }
        System.out.println("compiled " + count);
    }
}
