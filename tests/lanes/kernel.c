/* What submitted code might ask of the kernel so that it works in its own name, or runs out of what
 * the node has once. One subcommand a try; tests/lanes/test_filter.py runs them in a lane. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 1000, LAST_NUMBER = 1100 };

static long try_call(int number)
{
    return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

/* Every number, in a process of its own: `number error`, `number 0` or `number signal`. */
static void calls(void)
{
    for (int number = 0; number <= LAST_NUMBER; number++) {
        int status;
        const pid_t child = fork();
        if (!child) {
            close(0);
            alarm(2); /* some that are allowed wait */
            _exit(try_call(number) < 0 ? errno : 0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            exit(90);
        if (WIFSIGNALED(status))
            printf("%d signal\n", number);
        else
            printf("%d %d\n", number, WEXITSTATUS(status));
    }
    printf("-1 %d\n", try_call(-1) < 0 ? errno : 0);
}

static void print_core_limit(void)
{
    struct rlimit limit;
    if (syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit))
        exit(90);
    printf("%lld %lld\n", (long long)limit.rlim_cur, (long long)limit.rlim_max);
    fflush(stdout);
}

/* Every way to another limit of cores, here and in children. Prints the limit after all. */
static void cores(const char *self)
{
    const struct rlimit none = {0, 0}, one = {0, 1};
    syscall(SYS_setrlimit, RLIMIT_CORE, &none);
    syscall(SYS_setrlimit, RLIMIT_CORE | 1L << 32, &one);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
    syscall(SYS_prlimit64, 1L << 32, RLIMIT_CORE, &one, NULL);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE | 1L << 32, &one, NULL);
    syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &none, NULL);
    if (!vfork()) {
        syscall(SYS_setrlimit, RLIMIT_CORE, &one);
        _exit(0);
    }
    print_core_limit(); /* flushed: a fork copies what is not */
    if (!fork()) {
        setsid();
        execl(self, self, "core-limit", NULL);
        _exit(91);
    }
    while (wait(NULL) > 0)
        ;
}

/* Hands a descriptor to a socket of its own, where it stays. */
static int fly(void)
{
    int pair[2];
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {"x", 1};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                                   .msg_controllen = sizeof control};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
        exit(90);
    memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(int));
    const int sent = (int)sendmsg(pair[0], &message, 0);
    close(pair[0]);
    close(pair[1]);
    return sent;
}

static int attach(int how)
{
    struct sock_filter accept_all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const struct sock_fprog filter = {1, &accept_all};
    if (how == 1)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    if (how == 2)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    return setsockopt(socket(AF_UNIX, SOCK_STREAM, 0), SOL_SOCKET, SO_ATTACH_FILTER, &filter,
                      sizeof filter);
}

static int press(const char *path)
{
    static const char trigger[] = "some 100000 2000000";
    const int file = open(path, O_RDWR | O_NONBLOCK);
    return file < 0 ? -1 : (int)write(file, trigger, sizeof trigger);
}

/* One try of a kind; negative if the kernel refused. -2: no such kind. */
static int try_once(const char *kind)
{
    static uint32_t word;
    static char *memory;
    aio_context_t context = 0;
    timer_t timer;
    int ends[2];
    cpu_set_t cpus;
    sigset_t signals;

    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sigemptyset(&signals);
    if (!memory)
        memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!strcmp(kind, "terminals"))
        return open("/dev/ptmx", O_RDWR | O_NOCTTY) & open("/dev/pts/ptmx", O_RDWR | O_NOCTTY);
    if (!strcmp(kind, "inotify"))
        return inotify_init() & inotify_init1(0);
    if (!strcmp(kind, "fanotify"))
        return (int)syscall(SYS_fanotify_init, 0x200, 0); /* FAN_REPORT_FID: needs no privilege */
    if (!strcmp(kind, "dnotify"))
        return fcntl(open(".", O_RDONLY), F_NOTIFY, 2);
    if (!strcmp(kind, "aio"))
        return (int)syscall(SYS_io_setup, 1000, &context);
    if (!strcmp(kind, "timers"))
        return (int)syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &timer);
    if (!strcmp(kind, "signals"))
        return signalfd(-1, &signals, 0);
    if (!strcmp(kind, "queue"))
        return sigqueue(getpid(), SIGWINCH, (union sigval){.sival_int = 1});
    if (!strcmp(kind, "flying"))
        return fly();
    if (!strcmp(kind, "pipes"))
        return pipe(ends) ? -1 : fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
    if (!strcmp(kind, "leases"))
        return fcntl(open("leased", O_RDONLY | O_CREAT, 0600), F_SETLEASE, F_RDLCK);
    if (!strcmp(kind, "filters"))
        return attach(0) & attach(1) & attach(2);
    if (!strcmp(kind, "processors"))
        return sched_setaffinity(0, sizeof cpus, &cpus);
    if (!strcmp(kind, "classes"))
        return sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    if (!strcmp(kind, "barriers"))
        return (int)(syscall(SYS_membarrier, 1, 0, 0) & syscall(SYS_membarrier, 2, 0, 0));
    if (!strcmp(kind, "lending"))
        return (int)syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    if (!strcmp(kind, "huge"))
        return madvise(memory, 4 << 20, MADV_HUGEPAGE) & madvise(memory, 4 << 20, MADV_MERGEABLE);
    if (!strcmp(kind, "merging"))
        return prctl(67, 1, 0, 0, 0); /* PR_SET_MEMORY_MERGE */
    if (!strcmp(kind, "locked"))
        return mlock(memory, 4096) & mlockall(MCL_FUTURE);
    if (!strcmp(kind, "caches"))
        return (int)syscall(SYS_fadvise64, open("/proc/self/exe", O_RDONLY), 0L, 0L,
                            POSIX_FADV_DONTNEED);
    if (!strcmp(kind, "owners"))
        return fcntl(socket(AF_UNIX, SOCK_DGRAM, 0), F_SETOWN, getpid());
    if (!strcmp(kind, "keys"))
        return (int)syscall(SYS_add_key, "user", "k", "v", 1, -3);
    if (!strcmp(kind, "pressure"))
        return press("/proc/pressure/cpu") & press("/proc/pressure/io")
               & press("/proc/pressure/memory");
    if (!strcmp(kind, "ranges")) { /* worked: somebody else would have to wait */
        static off_t at;
        struct flock range = {.l_type = F_WRLCK, .l_start = at += 2, .l_len = 1};
        static int file, other;
        if (!file) {
            file = open("ranges", O_RDWR | O_CREAT, 0600);
            other = open("ranges", O_RDWR);
        }
        if (fcntl(file, F_SETLK, &range))
            return -3; /* refused, which no program of ours expects */
        return fcntl(other, F_OFD_GETLK, &range) || range.l_type == F_UNLCK ? -1 : 0;
    }
    if (!strcmp(kind, "names"))
        return prctl(0x53564d41, 0, memory, 4096, "name");
    if (!strcmp(kind, "proc")) {
        static const char *const files[] = {
            "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
            "/proc/self/autogroup", "/proc/self/clear_refs", "/proc/self/oom_score_adj"};
        int opened = -1;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            opened &= open(files[i], O_WRONLY);
        return opened;
    }
    return -2;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "calls")) {
        calls();
    } else if (!strcmp(what, "cores")) {
        cores(argv[0]);
    } else if (!strcmp(what, "core-limit")) {
        print_core_limit();
    } else if (!strcmp(what, "crash")) {
        raise(SIGSEGV);
    } else if (!strcmp(what, "flood") && argc > 2) {
        int worked = 0;
        for (int i = 0; i < TIMES; i++) {
            const int answer = try_once(argv[2]);
            if (answer <= -2)
                return 98;
            worked += answer >= 0;
        }
        printf("%d\n", worked);
    } else {
        return 98;
    }
    return 0;
}
