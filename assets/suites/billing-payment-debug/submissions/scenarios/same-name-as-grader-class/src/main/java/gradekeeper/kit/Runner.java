package gradekeeper.kit;

public final class Runner {

    private Runner() {
    }

    public static void main(String[] args) {
        System.exit(0);
    }
}
