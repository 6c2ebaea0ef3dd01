/* What submitted code might do to its lane. One subcommand a behaviour; tests/lanes runs them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(99);
}

static void forever(void)
{
    for (;;)
        pause();
}

/* Everything about the process that laned decides, a line each. */
static void facts(char **environment)
{
    char folder[4096];
    sigset_t blocked;
    printf("cwd %s\n", getcwd(folder, sizeof folder));
    printf("leader %d\n", getsid(0) == getpid() && getpgrp() == getpid());
    printf("umask %03o\n", umask(0));
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        if (sigismember(&blocked, sig) == 1
            || (!sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL))
            printf("signal %d\n", sig);
    }
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("descriptor %d\n", fd);
    for (; *environment; environment++)
        printf("env %s\n", *environment);
    printf("new privileges %d\n", !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    printf("filters %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    static const int limits[] = {RLIMIT_CPU, RLIMIT_AS, RLIMIT_FSIZE, RLIMIT_NOFILE,
                                 RLIMIT_NPROC, RLIMIT_CORE, RLIMIT_STACK};
    static const char *const names[] = {"cpu", "as", "fsize", "nofile", "nproc", "core", "stack"};
    for (int i = 0; i < 7; i++) {
        struct rlimit limit;
        getrlimit(limits[i], &limit);
        printf("limit %s %lld %lld\n", names[i], (long long)limit.rlim_cur,
               (long long)limit.rlim_max);
    }
}

/* Leaves the session twice over and keeps the order's descriptors open. */
static void escape(const char *seconds)
{
    if (!fork()) {
        setsid();
        if (!fork()) {
            setsid();
            signal(SIGHUP, SIG_IGN);
            say("escaped\n");
            sleep((unsigned)atoi(seconds));
            _exit(0);
        }
        _exit(0);
    }
    wait(NULL);
}

static void *say_and_stay(void *nothing)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", getpid());
    do {
        int file = open(path, O_RDONLY);
        if (read(file, text, sizeof text - 1) < 0)
            _exit(94);
        close(file);
    } while (!strstr(text, ") Z "));
    say("escaped\n");
    sleep(60);
    return nothing;
}

/* Escapes with a thread that is not the first, and ends the first: the process looks dead. */
static void escape_headless(void)
{
    pthread_t thread;
    if (fork()) {
        wait(NULL);
        return;
    }
    setsid();
    if (fork())
        _exit(0);
    setsid();
    if (pthread_create(&thread, NULL, say_and_stay, NULL))
        _exit(95);
    syscall(SYS_exit, 0);
}

/* Forks until it cannot, in every child too. Prints how the first failure is called. */
static void bomb(void)
{
    for (;;) {
        pid_t child = fork();
        if (child < 0) {
            say(errno == EAGAIN ? "EAGAIN\n" : "other\n");
            for (;;)
                if (fork() > 0)
                    sched_yield();
        }
    }
}

static void burn(double seconds)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
}

/* Makes a chain of folders far below any path limit, the deepest with a file. */
static void deep(int levels)
{
    for (int i = 0; i < levels; i++)
        if (mkdir("d", 0700) || chdir("d"))
            _exit(90);
    if (open("file", O_CREAT | O_WRONLY, 0600) < 0)
        _exit(91);
}

static void many(int count)
{
    char name[64];
    for (int i = 0; i < count; i++) {
        sprintf(name, "entry-%d", i);
        if (i % 2 ? mkdir(name, 0) : mknod(name, S_IFREG | 0600, 0))
            _exit(90);
    }
}

static int listen_at(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, name);
    return fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1);
}

/* All the kinds of things that a scratch folder can hold. */
static void zoo(const char *outside)
{
    char longest[256];
    memset(longest, 'x', 255);
    longest[255] = 0;
    if (mkdir("closed", 0700) || mkdir("closed/inner", 0700) || chdir("closed/inner")
        || mknod("file", S_IFREG, 0) || chdir("../..") || chmod("closed/inner", 0)
        || chmod("closed", 0) || symlink(outside, "to-folder") || symlink("/nowhere", "dangling")
        || symlink("loop", "loop") || mkfifo("fifo", 0) || listen_at("socket")
        || mkdir(longest, 0500) || mkdir("-rf", 0) || mkdir("a\nb", 0) || mkdir("..x", 0)
        || mkdir("linked", 0700) || symlink(outside, "linked/again") || link("fifo", "linked/hard")
        || mknod(".hidden", S_IFREG, 0) || mkdir("\xff\xfe", 0111)
        || chmod(".", 0))
        _exit(90);
}

int main(int argc, char **argv, char **environment)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *value = argc > 2 ? argv[2] : "0";
    const int number = atoi(value);

    setvbuf(stdout, NULL, _IOFBF, 65536);
    if (!strcmp(what, "facts")) {
        facts(environment);
    } else if (!strcmp(what, "exit")) {
        return number;
    } else if (!strcmp(what, "arguments")) {
        printf("%d %s|", argc - 2, argc > 2 ? argv[argc - 1] : "");
    } else if (!strcmp(what, "raise")) {
        raise(number);
    } else if (!strcmp(what, "sleep")) {
        say("sleeping\n");
        forever();
    } else if (!strcmp(what, "burn")) {
        burn(atof(value));
    } else if (!strcmp(what, "burn-stubbornly")) {
        signal(SIGXCPU, SIG_IGN);
        burn(1e9);
    } else if (!strcmp(what, "write")) {
        int fd = open("big", O_CREAT | O_WRONLY, 0600);
        static char block[4096];
        for (long left = number; left > 0; left -= 4096)
            if (write(fd, block, sizeof block) < 0)
                return errno == ENOSPC ? 28 : 91;
    } else if (!strcmp(what, "open")) {
        int opened = 0;
        while (open("/dev/null", O_RDONLY) >= 0)
            opened++;
        printf("%d %s", opened, strerrorname_np(errno));
    } else if (!strcmp(what, "map")) {
        void *memory = mmap(NULL, (size_t)number << 20, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        printf("%s", memory == MAP_FAILED ? strerrorname_np(errno) : "mapped");
    } else if (!strcmp(what, "touch")) {
        char *memory = malloc((size_t)number << 20);
        memset(memory, 1, (size_t)number << 20);
        printf("%d", memory[12345]);
    } else if (!strcmp(what, "fork")) {
        int children = 0;
        for (pid_t child; (child = fork()) >= 0; children++)
            if (!child)
                forever();
        printf("%d %s", children, strerrorname_np(errno));
        fflush(stdout);
        signal(SIGTERM, SIG_IGN);
        kill(0, SIGTERM);
    } else if (!strcmp(what, "bomb")) {
        bomb();
    } else if (!strcmp(what, "escape")) {
        escape(value);
    } else if (!strcmp(what, "escape-headless")) {
        escape_headless();
    } else if (!strcmp(what, "background")) {
        /* stays in the session, leaves the process group */
        if (!fork()) {
            setpgid(0, 0);
            say("ready\n");
            forever();
        }
        forever();
    } else if (!strcmp(what, "orphans")) {
        for (int i = 0; i < number; i++)
            if (!fork()) {
                setsid();
                _exit(i & 127);
            }
        return 42; /* its zombies become PID 1's */
    } else if (!strcmp(what, "sibling")) {
        pid_t child = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
        if (!child)
            _exit(7); /* a child of PID 1 that no order started */
        usleep(20000);
        return child > 0 ? 5 : 6;
    } else if (!strcmp(what, "signals")) {
        for (int round = 0; round < 200; round++)
            for (int sig = 1; sig < NSIG; sig++)
                kill(1, sig);
        say("done");
    } else if (!strcmp(what, "freeze")) {
        kill(-1, SIGSTOP);
        say("froze");
        raise(SIGSTOP);
    } else if (!strcmp(what, "deep")) {
        deep(number);
    } else if (!strcmp(what, "many")) {
        many(number);
    } else if (!strcmp(what, "zoo")) {
        zoo(value);
    } else if (!strcmp(what, "replace")) {
        /* puts a link where a scratch folder is expected */
        if (rmdir(value) || symlink("/mnt/lane", value))
            return 90;
    } else if (!strcmp(what, "list")) {
        DIR *folder = opendir(value);
        for (struct dirent *entry; folder && (entry = readdir(folder));)
            if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
                printf("%s\n", entry->d_name);
    } else if (!strcmp(what, "unix")) {
        int pair[2];
        return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || socket(AF_UNIX, SOCK_STREAM, 0) < 0;
    } else if (!strcmp(what, "own")) {
        /* what the filter leaves a process on itself */
        struct rlimit limit;
        cpu_set_t cpus;
        struct sched_param priority = {0};
        if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) || sched_getaffinity(0, sizeof cpus, &cpus)
            || sched_getparam(0, &priority) || prlimit(0, RLIMIT_NOFILE, &limit, NULL))
            return 90;
        return !fork() ? 0 : (wait(NULL) < 0);
    } else {
        return 98;
    }
    return 0;
}
