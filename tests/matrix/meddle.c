/* What submitted code may ask of the kernel without Java's help. The matrix's submissions carry it
 * as bytes and start it from their scratch folder. It prints what should not have worked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LANED = 1 };

static void tell(const char *what, long result)
{
    if (result >= 0)
        printf("%s worked\n", what);
    else if (errno != EPERM && errno != EACCES && errno != ENOENT) /* the local engine hides files */
        printf("%s: %s\n", what, strerror(errno));
}

static void pin(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    tell("sched_setaffinity", sched_setaffinity(LANED, sizeof cpus, &cpus));
}

static void idle(void)
{
    struct sched_param none = {0};
    struct { unsigned size, policy; unsigned long rest[6]; } attributes = {56, SCHED_IDLE, {0}};
    tell("sched_setscheduler", sched_setscheduler(LANED, SCHED_IDLE, &none));
    tell("sched_setparam", sched_setparam(LANED, &none));
    tell("sched_setattr", syscall(SYS_sched_setattr, LANED, &attributes, 0));
    tell("setpriority", setpriority(PRIO_PROCESS, LANED, 19));
    tell("setpriority of the user", setpriority(PRIO_USER, 0, 19));
    tell("ioprio_set", syscall(SYS_ioprio_set, 1, LANED, 3 << 13));
}

static void crash(void)
{
    static char bytes[16];
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)0x400000, sizeof bytes};
    struct rlimit nothing = {0, 0};
    for (int round = 0; round < 100; round++)
        for (int sig = 1; sig < NSIG; sig++)
            kill(LANED, sig); /* says that it worked, and the kernel drops it */
    tell("ptrace", ptrace(PTRACE_ATTACH, LANED, NULL, NULL));
    tell("process_vm_writev", process_vm_writev(LANED, &here, 1, &there, 1, 0));
    tell("prlimit", prlimit(LANED, RLIMIT_NOFILE, &nothing, NULL));
    tell("open of its memory", open("/proc/1/mem", O_RDWR));
    tell("open of its oom_score_adj", open("/proc/1/oom_score_adj", O_WRONLY));
    tell("open of its descriptors", open("/proc/1/fd/3", O_RDWR));
}

static void leave_session(void)
{
    if (fork())
        _exit(0);
    setsid();
}

static void bomb(void)
{
    for (;;)
        if (!fork())
            setsid();
}

/* As many as there may be, each of a session of its own. */
static void spin(void)
{
    while (fork() >= 0)
        setsid();
    for (;;)
        ;
}

static void eat(void)
{
    const size_t piece = 8 << 20;
    for (;;) {
        void *memory = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            pause();
        memset(memory, 1, piece);
    }
}

/* What the kernel does for a process in threads of its own, or where nothing interrupts it. */

enum { WORKERS = 8, TERMINALS = 128, PAIRS = 64 };

static void terminals(void)
{
    static char text[4096];
    int masters[TERMINALS], count = 0;
    memset(text, 'a', sizeof text);
    while (count < TERMINALS
           && (masters[count] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK)) >= 0)
        count++;
    for (int full = 0; count; full ? usleep(500) : 0) {
        full = 1;
        for (int number = 0; number < count; number++)
            if (write(masters[number], text, sizeof text) > 0)
                full = 0;
    }
}

/* Ends with as many page tables as the address space has room for. */
static void end_with_tables(void)
{
    const size_t size = 1 << 30;
    char *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 4096)
        (void)*(volatile char *)(memory + at);
    _exit(0);
}

static int carry(int through, int descriptor)
{
    char byte = 0, space[CMSG_SPACE(sizeof descriptor)] = {0};
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1,
                             .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(through, &message, MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* Sockets that only messages to each other still hold: the kernel has to find that out. */
static void drop_a_chain(void)
{
    int pairs[PAIRS][2], count = 0;
    while (count < PAIRS && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pairs[count]))
        count++;
    for (int number = 0; number < count; number++)
        for (int end = 0; end < 2; end++)
            carry(pairs[number][end], pairs[(number + 1) % count][end]);
    for (int number = 0; number < count; number++)
        for (int end = 0; end < 2; end++)
            close(pairs[number][end]);
}

static void in_workers(void (*work)(void), int in_a_child)
{
    for (int worker = 0; worker < WORKERS; worker++)
        if (!fork())
            for (;;) {
                if (in_a_child && fork())
                    wait(NULL);
                else
                    work();
            }
    pause();
}

/* Writes to pseudo-terminals that nobody reads: kernel threads would move it. */
static void type(void)
{
    static char block[4096];
    int terminals[128], count = 0;
    for (int i = 0; i < 128; i++) {
        const int opened = open(i % 2 ? "/dev/ptmx" : "/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (opened >= 0)
            terminals[count++] = opened;
    }
    if (count)
        printf("%d terminals\n", count);
    for (int round = 0; count && round < 100000; round++)
        if (write(terminals[round % count], block, sizeof block) < 0)
            usleep(500);
}

/* Each of what a node has once, or its root, as often as it goes. */
static void hoard(void)
{
    aio_context_t context;
    timer_t timer;
    struct sock_filter accept_all = {BPF_RET | BPF_K, 0, 0, ~0U};
    const struct sock_fprog filter = {1, &accept_all};
    for (int i = 0; i < 300; i++) {
        context = 0;
        tell("inotify_init", inotify_init());
        tell("fanotify_init", syscall(SYS_fanotify_init, 0x200, 0));
        tell("io_setup", syscall(SYS_io_setup, 1000, &context));
        tell("timer_create", syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &timer));
        tell("add_key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
        tell("a filter", setsockopt(socket(AF_UNIX, SOCK_STREAM, 0), SOL_SOCKET, SO_ATTACH_FILTER,
                                    &filter, sizeof filter));
        tell("seccomp", syscall(SYS_seccomp, 1, 0, &filter));
        tell("pressure", open("/proc/pressure/cpu", O_RDWR));
    }
}

/* What makes kernel threads, or every processor, work. */
static void stir(void)
{
    cpu_set_t cpus;
    struct msghdr message = {0};
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int i = 0; i < 1000; i++) {
        tell("sched_setaffinity", sched_setaffinity(0, sizeof cpus, &cpus));
        tell("sendmsg", sendmsg(-1, &message, 0));
        tell("mlock", mlock(&message, 1));
        tell("mbind", syscall(SYS_mbind, NULL, 0, 0, NULL, 0, 0));
        sync();
    }
}

/* Crashes, with every limit of cores that can be had: nothing of the node is started by it. */
static void dump(void)
{
    struct rlimit limit = {0, 0};
    tell("setrlimit", setrlimit(RLIMIT_CORE, &limit));
    for (int i = 0; i < 20; i++)
        if (!fork())
            raise(SIGSEGV);
    while (wait(NULL) > 0)
        ;
    getrlimit(RLIMIT_CORE, &limit);
    if (limit.rlim_cur != 1 || limit.rlim_max != 1)
        printf("another limit of cores\n");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "pin")) {
        pin();
    } else if (!strcmp(what, "idle")) {
        idle();
    } else if (!strcmp(what, "crash")) {
        crash();
    } else if (!strcmp(what, "kill-parent")) {
        kill(getppid(), SIGSEGV);
    } else if (!strcmp(what, "kill-all")) {
        kill(-1, SIGKILL);
    } else if (!strcmp(what, "freeze")) {
        kill(-1, SIGSTOP);
        raise(SIGSTOP);
    } else if (!strcmp(what, "hold")) {
        leave_session();
        sleep(600);
    } else if (!strcmp(what, "bomb")) {
        leave_session();
        bomb();
    } else if (!strcmp(what, "spin")) {
        leave_session();
        spin();
    } else if (!strcmp(what, "eat")) {
        eat();
    } else if (!strcmp(what, "terminals")) {
        terminals();
    } else if (!strcmp(what, "tables")) {
        in_workers(end_with_tables, 1);
    } else if (!strcmp(what, "chains")) {
        in_workers(drop_a_chain, 0);
    } else if (!strcmp(what, "type")) {
        type();
    } else if (!strcmp(what, "hoard")) {
        hoard();
    } else if (!strcmp(what, "stir")) {
        stir();
    } else if (!strcmp(what, "dump")) {
        dump();
    } else {
        return 98;
    }
    return 0;
}
