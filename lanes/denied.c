/*
 * The calls that a lane is denied, each made once; a part of laneprobe.
 *
 * Arguments are chosen so that, without the filter, a call succeeds without an effect or fails with
 * another error than the filter's wherever the kernel allows such a choice. It knows nothing of the
 * filter's own tables: the lists are written twice so that a test can compare them.
 */
#define _GNU_SOURCE
#include "denied.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_NEWER = 451, /* what Linux 6.1 does not have */
    LAST_NEWER = 1023,
};

static void print_answer(const char *name, const char *answer)
{
    static bool later;
    printf("%s\"%s\":\"%s\"", later ? "," : "", name, answer ? answer : "UNKNOWN");
    later = true;
}

static void print_call(const char *name, long result)
{
    print_answer(name, result < 0 ? strerrorname_np(errno) : "ALLOWED");
}

/* A call with wrong arguments: 0 means that nothing was done, not even a look at them. */
static void print_idle_call(const char *name, long result)
{
    print_answer(name, result ? strerrorname_np(errno) : "NOTHING");
}

/* clone() with a namespace flag: should it work, the child ends at once. */
static long clone_with(unsigned long flags)
{
    long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
    if (!child)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child;
}

/* How a child that makes a call of another architecture ends. */
static void print_foreign(const char *name, void (*call)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        call();
        _exit(0);
    }
    waitpid(child, &status, 0);
    print_answer(name, WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? "KILLED" : "ALLOWED");
}

#ifdef __x86_64__
static void call_i386(void)
{
    long result = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
}

static void call_x32(void)
{
    syscall(0x40000000 + SYS_getpid);
}
#endif

/* ------------------------------------------------------------------ by their arguments */

static void print_sockets(void)
{
    struct sock_filter accept_all = {BPF_RET | BPF_K, 0, 0, ~0U};
    const struct sock_fprog filter = {1, &accept_all};
    struct ifconf interfaces = {0};
    int pair[2], ours = socket(AF_UNIX, SOCK_STREAM, 0);

    print_call("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
    print_call("socket_inet6", socket(AF_INET6, SOCK_STREAM, 0));
    print_call("socket_inet_udp", socket(AF_INET, SOCK_DGRAM, 0));
    print_call("socket_netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    print_call("socket_packet", socket(AF_PACKET, SOCK_RAW, 0));
    print_call("socket_vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    print_call("socket_alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
    print_call("socketpair_inet", socketpair(AF_INET, SOCK_STREAM, 0, pair));
    print_call("setsockopt_filter",
               setsockopt(ours, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
    print_call("setsockopt_bpf", setsockopt(ours, SOL_SOCKET, SO_ATTACH_BPF, pair, sizeof *pair));
    print_call("ioctl_interfaces", ioctl(ours, SIOCGIFCONF, &interfaces));
    close(ours);
}

/* On what is the caller's own or nobody's, but with a command that is denied. */
static void print_commands(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    uint32_t word = 0;
    int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ends[2] = {-1, -1};
    int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char *memory =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pipe2(ends, O_CLOEXEC) || getrlimit(RLIMIT_CORE, &limit))
        exit(1); /* an incomplete answer is no answer */
    print_call("prlimit64_other", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, NULL, NULL));
    print_call("prlimit64_core", syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL));
    print_call("setrlimit_core", syscall(SYS_setrlimit, RLIMIT_CORE, &limit));
    print_call("fcntl_lease", fcntl(program, F_SETLEASE, F_UNLCK));
    print_call("fcntl_notify", fcntl(folder, F_NOTIFY, 0));
    print_call("fcntl_signal", fcntl(ends[0], F_SETSIG, 0));
    print_call("fcntl_owner", fcntl(ends[0], F_SETOWN, 0));
    print_idle_call("fcntl_lock", fcntl(-1, F_SETLK, &(struct flock){0}));
    print_idle_call("fcntl_lock_wait", fcntl(-1, F_OFD_SETLKW, &(struct flock){0}));
    print_call("fcntl_pipe_size", fcntl(ends[0], F_SETPIPE_SZ, 1));
    print_call("ioctl_async", ioctl(ends[0], FIOASYNC, &(int){0}));
    print_call("madvise_mergeable", madvise(memory, page, MADV_MERGEABLE));
    print_call("madvise_hugepage", madvise(memory, page, MADV_HUGEPAGE));
    print_call("madvise_collapse", madvise(NULL, 0, 25));
    print_call("madvise_remove", madvise(NULL, 0, MADV_REMOVE));
    print_call("mmap_hugetlb",
               (long)mmap(NULL, page, PROT_READ,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0));
    print_call("mmap_locked", (long)mmap(NULL, page, PROT_READ,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    print_call("fadvise_dontneed",
               syscall(SYS_fadvise64, folder, 0L, 1L, POSIX_FADV_DONTNEED));
    print_call("prctl_seccomp", prctl(PR_SET_SECCOMP, 2, NULL, 0, 0));
    print_call("prctl_dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    print_call("prctl_subreaper", prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0));
    print_call("prctl_core_scheduling", prctl(62, -1, 0, 0, 0));
    print_call("prctl_merge", prctl(67, 0, 0, 0, 0));
    print_call("prctl_name_mapping", prctl(0x53564d41, 0, memory, page, NULL));
    print_call("prctl_speculation", prctl(PR_SET_SPECULATION_CTRL, -1, 0, 0, 0));
    print_call("futex_lend",
               syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0));
    print_call("futex_lend_shared", syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    print_call("membarrier_global", syscall(SYS_membarrier, 1, 0, 0));
    print_call("membarrier_expedited", syscall(SYS_membarrier, 2, 0, 0));
    for (int i = 0; i < 2; i++)
        close(ends[i]);
    close(program);
    close(folder);
}

static void print_clones(void)
{
    print_call("clone_newuser", clone_with(CLONE_NEWUSER));
    print_call("clone_newns", clone_with(CLONE_NEWNS));
    print_call("clone_newuts", clone_with(CLONE_NEWUTS));
    print_call("clone_newipc", clone_with(CLONE_NEWIPC));
    print_call("clone_newpid", clone_with(CLONE_NEWPID));
    print_call("clone_newnet", clone_with(CLONE_NEWNET));
    print_call("clone_newcgroup", clone_with(CLONE_NEWCGROUP));
}

/* ------------------------------------------------------------------ by their numbers */

#define CALL(name) #name, SCMP_SYS(name)
/* An address that is never mapped: EFAULT if it is looked at. */
#define BAD 1L
/* Arguments that no call does anything with: no descriptor, process, address or flags. */
#define NONE {-1, -1, -1, -1, -1, -1}

static const struct call {
    const char *name;
    int number; /* negative: not of this architecture */
    long arguments[6];
} calls[] = {
    {CALL(get_robust_list), NONE}, {CALL(kcmp), {1, 1}}, {CALL(migrate_pages), {0}},
    {CALL(move_pages), {0}}, {CALL(pidfd_getfd), NONE}, {CALL(process_madvise), NONE},
    {CALL(process_mrelease), NONE}, {CALL(process_vm_readv), {1}},
    {CALL(process_vm_writev), {1}}, {CALL(ptrace), {3, 1}},
    {CALL(add_key), {BAD, BAD, 0, 0, -3}}, {CALL(keyctl), {0, -3}},
    {CALL(memfd_create), {BAD}}, {CALL(memfd_secret), NONE}, {CALL(mq_getsetattr), NONE},
    {CALL(mq_notify), {-1}}, {CALL(mq_open), {BAD, O_RDWR}}, {CALL(mq_timedreceive), NONE},
    {CALL(mq_timedsend), NONE}, {CALL(mq_unlink), {BAD}}, {CALL(msgctl), {-1, IPC_RMID}},
    {CALL(msgrcv), NONE}, {CALL(msgsnd), NONE}, {CALL(request_key), {BAD, BAD}},
    {CALL(semctl), {-1, 0, IPC_RMID}}, {CALL(semop), {-1, BAD, 1}},
    {CALL(semtimedop), {-1, BAD, 1}}, {CALL(shmat), NONE}, {CALL(shmctl), {-1, IPC_RMID}},
    {CALL(shmdt), {BAD}},
    {CALL(fanotify_init), {0}}, {CALL(fanotify_mark), NONE}, {CALL(inotify_add_watch), NONE},
    {CALL(inotify_init), {0}}, {CALL(inotify_init1), {0}}, {CALL(inotify_rm_watch), NONE},
    {CALL(io_cancel), NONE}, {CALL(io_destroy), NONE}, {CALL(io_getevents), NONE},
    {CALL(io_pgetevents), NONE}, {CALL(io_setup), {1, BAD}}, {CALL(io_submit), NONE},
    {CALL(landlock_add_rule), NONE}, {CALL(landlock_create_ruleset), {0, 0, 1}},
    {CALL(landlock_restrict_self), NONE}, {CALL(mlock), {0}}, {CALL(mlock2), {0}},
    {CALL(mlockall), NONE}, {CALL(munlock), {0}}, {CALL(munlockall), {0}},
    {CALL(seccomp), {2, 0, BAD}},
    {CALL(io_uring_enter), NONE}, {CALL(io_uring_register), NONE},
    {CALL(io_uring_setup), {1, BAD}}, {CALL(ioprio_get), {1, 0}}, {CALL(ioprio_set), {1, 0, 0}},
    {CALL(mbind), {0}}, {CALL(readahead), NONE}, {CALL(recvmmsg), NONE},
    {CALL(rt_sigqueueinfo), NONE}, {CALL(rt_tgsigqueueinfo), NONE},
    {CALL(sched_setaffinity), {0, 0, BAD}}, {CALL(sched_setattr), {0, BAD}},
    {CALL(sched_setparam), {0, BAD}}, {CALL(sched_setscheduler), {0, 0, BAD}},
    {CALL(sendmmsg), NONE}, {CALL(sendmsg), NONE}, {CALL(set_mempolicy), {0}},
    {CALL(setpriority), {PRIO_PROCESS, 0, 0}}, {CALL(signalfd), NONE}, {CALL(signalfd4), NONE},
    {CALL(splice), NONE}, {CALL(tee), NONE}, {CALL(timer_create), {0, 0, BAD}},
    {CALL(timer_delete), NONE}, {CALL(timer_getoverrun), NONE}, {CALL(timer_gettime), NONE},
    {CALL(timer_settime), NONE}, {CALL(vmsplice), NONE},
    {CALL(chroot), {BAD}}, {CALL(fsconfig), {-1}}, {CALL(fsmount), {-1}}, {CALL(fsopen), {BAD}},
    {CALL(fspick), {-1, BAD}}, {CALL(mount), {BAD, BAD, BAD}},
    {CALL(mount_setattr), {-1, BAD, 0x80000000L, BAD}}, {CALL(move_mount), {-1, BAD, -1, BAD}},
    {CALL(name_to_handle_at), NONE}, {CALL(open_by_handle_at), NONE},
    {CALL(open_tree), {-1, BAD}}, {CALL(pivot_root), {BAD, BAD}}, {CALL(setns), {-1}},
    {CALL(umount2), {BAD}}, {CALL(unshare), {0}},
    {CALL(capset), NONE}, {CALL(personality), NONE}, {CALL(setfsgid), NONE},
    {CALL(setfsuid), NONE}, {CALL(setgid), NONE}, {CALL(setgroups), NONE},
    {CALL(setregid), NONE}, {CALL(setresgid), NONE}, {CALL(setresuid), NONE},
    {CALL(setreuid), NONE}, {CALL(setuid), NONE},
    {CALL(acct), {BAD}}, {CALL(adjtimex), {BAD}}, {CALL(clock_adjtime), {0, BAD}},
    {CALL(clock_settime), {0, BAD}}, {CALL(delete_module), NONE}, {CALL(finit_module), NONE},
    {CALL(init_module), NONE}, {CALL(ioperm), {0, 1, 0}}, {CALL(iopl), {0}},
    {CALL(kexec_file_load), NONE}, {CALL(kexec_load), NONE}, {CALL(quotactl), NONE},
    {CALL(quotactl_fd), NONE}, {CALL(reboot), NONE}, {CALL(setdomainname), NONE},
    {CALL(sethostname), NONE}, {CALL(settimeofday), {BAD, 0}}, {CALL(swapoff), {BAD}},
    {CALL(swapon), {BAD}}, {CALL(syslog), {10}}, {CALL(vhangup), {0}},
    {CALL(bpf), {0, BAD, 4096}}, {CALL(get_thread_area), NONE}, {CALL(lookup_dcookie), NONE},
    {CALL(modify_ldt), {-1}}, {CALL(perf_event_open), {BAD, 0, -1, -1}},
    {CALL(pkey_alloc), NONE}, {CALL(pkey_free), NONE}, {CALL(pkey_mprotect), NONE},
    {CALL(remap_file_pages), NONE}, {CALL(set_thread_area), NONE}, {CALL(sysfs), {3}},
    {CALL(uselib), {BAD}}, {CALL(userfaultfd), {1}}, {CALL(ustat), NONE},
    {CALL(clone3), {0}}, {CALL(futex_waitv), NONE}, {CALL(openat2), NONE},
    {CALL(set_mempolicy_home_node), NONE},
    {CALL(setxattr), {BAD}}, {CALL(lsetxattr), {BAD}}, {CALL(fsetxattr), {-1, BAD}},
    {CALL(removexattr), {BAD}}, {CALL(lremovexattr), {BAD}}, {CALL(fremovexattr), {-1, BAD}},
};

static long make_call(int number, const long *a)
{
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Private ones, which go away again should they be made. */
static void print_ipc(void)
{
    int key;
    print_call("shmget", key = (int)syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600));
    if (key >= 0)
        syscall(SYS_shmctl, key, IPC_RMID, NULL);
    print_call("semget", key = (int)syscall(SYS_semget, IPC_PRIVATE, 1, 0600));
    if (key >= 0)
        syscall(SYS_semctl, key, 0, IPC_RMID, NULL);
    print_call("msgget", key = (int)syscall(SYS_msgget, IPC_PRIVATE, 0600));
    if (key >= 0)
        syscall(SYS_msgctl, key, IPC_RMID, NULL);
}

/* Flushing answers 0 and does nothing: without the filter this is EBADF or EINVAL. */
static void print_idle(void)
{
    static const struct call idle[] = {
        {CALL(fdatasync), NONE}, {CALL(fsync), NONE}, {CALL(msync), {BAD, 0, -1}},
        {CALL(sync_file_range), NONE}, {CALL(syncfs), NONE},
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        print_idle_call(idle[i].name, make_call(idle[i].number, idle[i].arguments));
}

/* Every number above those that are decided one by one: one answer for all, or the first other. */
static void print_newer(void)
{
    static const long none[6] = NONE;
    for (int number = FIRST_NEWER; number <= LAST_NEWER; number++)
        if (make_call(number, none) >= 0 || errno != ENOSYS) {
            print_answer("newer", "ALLOWED");
            return;
        }
    print_answer("newer", "ENOSYS");
}

void print_denied(void)
{
    printf(",\"denied\":{");
    print_sockets();
    print_commands();
    print_clones();
    print_ipc();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number >= 0)
            print_call(calls[i].name, make_call(calls[i].number, calls[i].arguments));
    print_idle();
    print_newer();
#ifdef __x86_64__
    print_foreign("i386", call_i386);
    print_foreign("x32", call_x32);
#endif
    putchar('}');
}
