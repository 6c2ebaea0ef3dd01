/*
 * The system call filter of a lane. lanes/README.md, "System calls and devices", says why each
 * call is decided as it is; a test holds these tables against the machine's own list of calls.
 *
 * Allowed is what a JVM, Python, a shell and the programs of a shell call, as far as the kernel
 * does the work in the caller's own time and memory. What it would do in threads or interrupts of
 * its own, or counts once for a whole node, is denied. A number in no table answers ENOSYS, as
 * under a kernel that does not have it: libraries then take an older way.
 *
 * Written in the filter machine's own words, since libseccomp, whose names of calls are used, has
 * one default for numbers and none for arguments: "these ioctls, else ENOTTY" cannot be said beside
 * "unknown numbers, ENOSYS".
 */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter knows x86-64 and aarch64"
#endif

/* A call that an architecture does not have is a negative number and is left out. */
#define CALL(name) SCMP_SYS(name)

/* ------------------------------------------------------------------ what is decided */

static const int allowed[] = {
    /* its own memory */
    CALL(brk), CALL(get_mempolicy), CALL(mincore), CALL(mprotect), CALL(mremap), CALL(munmap),
    /* files */
    CALL(access), CALL(chdir), CALL(chmod), CALL(chown), CALL(close), CALL(close_range),
    CALL(copy_file_range), CALL(creat), CALL(dup), CALL(dup2), CALL(dup3), CALL(faccessat),
    CALL(faccessat2), CALL(fallocate), CALL(fchdir), CALL(fchmod), CALL(fchmodat), CALL(fchown),
    CALL(fchownat), CALL(fgetxattr), CALL(flistxattr), CALL(flock), CALL(fstat), CALL(fstatfs),
    CALL(ftruncate), CALL(futimesat), CALL(getcwd), CALL(getdents), CALL(getdents64),
    CALL(getxattr), CALL(lchown), CALL(lgetxattr), CALL(link), CALL(linkat), CALL(listxattr),
    CALL(llistxattr), CALL(lseek), CALL(lstat), CALL(mkdir), CALL(mkdirat), CALL(mknod),
    CALL(mknodat), CALL(newfstatat), CALL(open), CALL(openat), CALL(pread64), CALL(preadv),
    CALL(preadv2), CALL(pwrite64), CALL(pwritev), CALL(pwritev2), CALL(read), CALL(readlink),
    CALL(readlinkat), CALL(readv), CALL(rename), CALL(renameat), CALL(renameat2), CALL(rmdir),
    CALL(sendfile), CALL(stat), CALL(statfs), CALL(statx), CALL(symlink), CALL(symlinkat),
    CALL(truncate), CALL(umask), CALL(unlink), CALL(unlinkat), CALL(utime), CALL(utimensat),
    CALL(utimes), CALL(write), CALL(writev),
    /* waiting and talking within the lane */
    CALL(accept), CALL(accept4), CALL(bind), CALL(connect), CALL(epoll_create),
    CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(epoll_pwait2),
    CALL(epoll_wait), CALL(eventfd), CALL(eventfd2), CALL(getpeername), CALL(getsockname),
    CALL(getsockopt), CALL(listen), CALL(pipe), CALL(pipe2), CALL(poll), CALL(ppoll),
    CALL(pselect6), CALL(recvfrom), CALL(recvmsg), CALL(select), CALL(sendto), CALL(shutdown),
    /* time */
    CALL(alarm), CALL(clock_getres), CALL(clock_gettime), CALL(clock_nanosleep),
    CALL(getitimer), CALL(gettimeofday), CALL(nanosleep), CALL(setitimer), CALL(time),
    CALL(timerfd_create), CALL(timerfd_gettime), CALL(timerfd_settime), CALL(times),
    /* its own processes, threads and signals */
    CALL(arch_prctl), CALL(execve), CALL(execveat), CALL(exit), CALL(exit_group), CALL(fork),
    CALL(kill), CALL(pause), CALL(pidfd_open), CALL(pidfd_send_signal), CALL(restart_syscall),
    CALL(rseq), CALL(rt_sigaction), CALL(rt_sigpending), CALL(rt_sigprocmask),
    CALL(rt_sigreturn), CALL(rt_sigsuspend), CALL(rt_sigtimedwait), CALL(sched_yield),
    CALL(set_robust_list), CALL(set_tid_address), CALL(setpgid), CALL(setsid),
    CALL(sigaltstack), CALL(tgkill), CALL(tkill), CALL(vfork), CALL(wait4), CALL(waitid),
    /* asking */
    CALL(capget), CALL(getcpu), CALL(getegid), CALL(geteuid), CALL(getgid), CALL(getgroups),
    CALL(getpgid), CALL(getpgrp), CALL(getpid), CALL(getppid), CALL(getpriority),
    CALL(getrandom), CALL(getresgid), CALL(getresuid), CALL(getrlimit), CALL(getrusage),
    CALL(getsid), CALL(gettid), CALL(getuid), CALL(sched_get_priority_max),
    CALL(sched_get_priority_min), CALL(sched_getaffinity), CALL(sched_getattr),
    CALL(sched_getparam), CALL(sched_getscheduler), CALL(sched_rr_get_interval), CALL(sysinfo),
    CALL(uname),
};

/* EPERM */
static const int denied[] = {
    /* other processes' memory, descriptors and scheduling */
    CALL(get_robust_list), CALL(kcmp), CALL(migrate_pages), CALL(move_pages), CALL(pidfd_getfd),
    CALL(process_madvise), CALL(process_mrelease), CALL(process_vm_readv),
    CALL(process_vm_writev), CALL(ptrace),
    /* memory and messages that outlive a process */
    CALL(add_key), CALL(keyctl), CALL(memfd_create), CALL(memfd_secret), CALL(mq_getsetattr),
    CALL(mq_notify), CALL(mq_open), CALL(mq_timedreceive), CALL(mq_timedsend), CALL(mq_unlink),
    CALL(msgctl), CALL(msgget), CALL(msgrcv), CALL(msgsnd), CALL(request_key), CALL(semctl),
    CALL(semget), CALL(semop), CALL(semtimedop), CALL(shmat), CALL(shmctl), CALL(shmdt),
    CALL(shmget),
    /* one counter for the node, or for its root */
    CALL(fanotify_init), CALL(fanotify_mark), CALL(inotify_add_watch), CALL(inotify_init),
    CALL(inotify_init1), CALL(inotify_rm_watch), CALL(io_cancel), CALL(io_destroy),
    CALL(io_getevents), CALL(io_pgetevents), CALL(io_setup), CALL(io_submit),
    CALL(landlock_add_rule), CALL(landlock_create_ruleset), CALL(landlock_restrict_self),
    CALL(mlock), CALL(mlock2), CALL(mlockall), CALL(munlock), CALL(munlockall), CALL(seccomp),
    /* work in threads and interrupts of the kernel's own, or on other processors */
    CALL(io_uring_enter), CALL(io_uring_register), CALL(io_uring_setup), CALL(ioprio_get),
    CALL(ioprio_set), CALL(mbind), CALL(readahead), CALL(recvmmsg), CALL(rt_sigqueueinfo),
    CALL(rt_tgsigqueueinfo), CALL(sched_setaffinity), CALL(sched_setattr),
    CALL(sched_setparam), CALL(sched_setscheduler), CALL(sendmmsg), CALL(sendmsg),
    CALL(set_mempolicy), CALL(setpriority), CALL(signalfd), CALL(signalfd4), CALL(splice),
    CALL(tee), CALL(timer_create), CALL(timer_delete), CALL(timer_getoverrun),
    CALL(timer_gettime), CALL(timer_settime), CALL(vmsplice),
    /* namespaces, mounts, files by another name than their own */
    CALL(chroot), CALL(fsconfig), CALL(fsmount), CALL(fsopen), CALL(fspick), CALL(mount),
    CALL(mount_setattr), CALL(move_mount), CALL(name_to_handle_at), CALL(open_by_handle_at),
    CALL(open_tree), CALL(pivot_root), CALL(setns), CALL(umount2), CALL(unshare),
    /* another identity */
    CALL(capset), CALL(personality), CALL(setfsgid), CALL(setfsuid), CALL(setgid),
    CALL(setgroups), CALL(setregid), CALL(setresgid), CALL(setresuid), CALL(setreuid),
    CALL(setuid),
    /* the machine's own settings */
    CALL(acct), CALL(adjtimex), CALL(clock_adjtime), CALL(clock_settime), CALL(delete_module),
    CALL(finit_module), CALL(init_module), CALL(ioperm), CALL(iopl), CALL(kexec_file_load),
    CALL(kexec_load), CALL(quotactl), CALL(quotactl_fd), CALL(reboot), CALL(setdomainname),
    CALL(sethostname), CALL(settimeofday), CALL(swapoff), CALL(swapon), CALL(syslog),
    CALL(vhangup),
    /* kernel surface that has no use here */
    CALL(bpf), CALL(get_thread_area), CALL(lookup_dcookie), CALL(modify_ldt),
    CALL(perf_event_open), CALL(pkey_alloc), CALL(pkey_free), CALL(pkey_mprotect),
    CALL(remap_file_pages), CALL(set_thread_area), CALL(sysfs), CALL(uselib),
    CALL(userfaultfd), CALL(ustat),
};

/* ENOSYS: libraries have another way. clone3 and openat2 take flags from memory, out of a filter's
 * sight; the last two lines are numbers that no kernel of today answers. */
static const int absent[] = {
    CALL(clone3), CALL(futex_waitv), CALL(openat2), CALL(set_mempolicy_home_node),
    CALL(_sysctl), CALL(afs_syscall), CALL(create_module), CALL(get_kernel_syms), CALL(getpmsg),
    CALL(nfsservctl), CALL(putpmsg), CALL(query_module), CALL(security), CALL(tuxcall),
    CALL(vserver),
#ifdef __x86_64__
    __NR_epoll_ctl_old, __NR_epoll_wait_old,
#endif
};

/* 0, and nothing is done: all that a lane can write is in memory, and flushing what it can only
 * read would be work of the node's disks. */
static const int idle[] = {
    CALL(fdatasync), CALL(fsync), CALL(msync), CALL(sync), CALL(sync_file_range), CALL(syncfs),
};

/* EOPNOTSUPP, as on a file system without them. */
static const int unsupported[] = {
    CALL(fremovexattr), CALL(fsetxattr), CALL(lremovexattr), CALL(lsetxattr), CALL(removexattr),
    CALL(setxattr),
};

enum { MOST_VALUES = 40 };

/* Allowed if (argument & mask) is one of the values. The kernel reads 32 bits of each of these
 * arguments, and so does the filter. */
struct condition {
    int call;
    unsigned argument;
    uint32_t mask;
    int error;
    unsigned count;
    uint32_t values[MOST_VALUES];
};

#define ANY_OF(...) \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), { __VA_ARGS__ }
#define NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET \
     | CLONE_NEWCGROUP)
/* All but RLIMIT_CORE, which laned sets to 1: the one value at which no kernel starts a handler. */
#define LIMITS_TO_SET \
    ANY_OF(RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_RSS, RLIMIT_NPROC, \
           RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_LOCKS, RLIMIT_SIGPENDING, \
           RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME)

/* Names that older headers lack. */
enum {
    POPULATE_READ = 22, /* MADV_POPULATE_READ */
    POPULATE_WRITE = 23,
};

static const struct condition conditions[] = {
    {CALL(socket), 0, ~0U, EPERM, ANY_OF(AF_UNIX)},
    {CALL(socketpair), 0, ~0U, EPERM, ANY_OF(AF_UNIX)},
    /* No filter programs: a node has one budget for all that are compiled. */
    {CALL(setsockopt), 2, ~0U, EPERM,
     ANY_OF(SO_REUSEADDR, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER,
            SO_REUSEPORT, SO_PASSCRED, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDTIMEO)},
    {CALL(clone), 0, NAMESPACES, EPERM, ANY_OF(0)},
    {CALL(mmap), 3, MAP_HUGETLB | MAP_LOCKED, EPERM, ANY_OF(0)},
    /* Not those that khugepaged and ksmd act on. */
    {CALL(madvise), 2, ~0U, EINVAL,
     ANY_OF(MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE,
            MADV_DONTFORK, MADV_DOFORK, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,
            MADV_WIPEONFORK, MADV_KEEPONFORK, POPULATE_READ, POPULATE_WRITE)},
    /* Not POSIX_FADV_DONTNEED, which makes a kernel thread of every processor work. */
    {CALL(fadvise64), 3, ~0U, EINVAL,
     ANY_OF(POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED,
            POSIX_FADV_NOREUSE)},
    {CALL(ioctl), 1, ~0U, ENOTTY,
     ANY_OF(TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX)},
    /* Not leases, notifications, signals of others' input and output, or larger pipes. */
    {CALL(fcntl), 1, ~0U, EINVAL,
     ANY_OF(F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_GETOWN, F_OFD_GETLK,
            F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_GET_SEALS)},
    {CALL(prctl), 0, ~0U, EINVAL,
     ANY_OF(PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME,
            PR_GET_SECCOMP, PR_CAPBSET_READ, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
            PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE,
            PR_GET_THP_DISABLE)},
    /* Not those that lend a priority. */
    {CALL(futex), 1, (uint32_t)FUTEX_CMD_MASK, ENOSYS,
     ANY_OF(FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,
            FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET)},
    /* Only what interrupts the processors that run this very process. */
    {CALL(membarrier), 0, ~0U, EINVAL,
     ANY_OF(MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_PRIVATE_EXPEDITED,
            MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)},
    {CALL(setrlimit), 0, ~0U, EPERM, LIMITS_TO_SET},
    /* On the caller itself: a JVM reads and sets its own limits. What is set is decided below. */
    {CALL(prlimit64), 0, ~0U, EPERM, ANY_OF(0)},
};

static const struct condition new_limit = {CALL(prlimit64), 1, ~0U, EPERM, LIMITS_TO_SET};

/* Answered 0, and nothing is done: a process may lock any number of ranges of a file, each of them
 * kernel memory that is charged to nobody. What locks files to keep other processes out runs
 * alone in its lane's folder. flock() counts by open files and stays. */
static const struct condition record_locks = {
    CALL(fcntl), 1, ~0U, 0, ANY_OF(F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW)};

/* ------------------------------------------------------------------ the program */

enum {
    NUMBERS = 1024,      /* calls above are not decided one by one: ENOSYS */
    INSTRUCTIONS = 2048, /* the kernel takes 4,096 */
    CONDITIONAL = 0x100, /* as an action: a condition by its index. No SECCOMP_RET_* is that low. */
    X32 = 0x40000000,
};

#define ERROR(number) (SECCOMP_RET_ERRNO | (uint32_t)(number))
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static uint32_t actions[NUMBERS];
static struct sock_filter program[INSTRUCTIONS];
static unsigned short length;
static bool failed;

static void decide(int call, uint32_t action)
{
    if (call < 0)
        return; /* not of this architecture */
    if (call >= NUMBERS || actions[call])
        failed = true;
    else
        actions[call] = action;
}

static void decide_all(const int *calls, size_t count, uint32_t action)
{
    for (size_t i = 0; i < count; i++)
        decide(calls[i], action);
}

static void emit(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    if (length == INSTRUCTIONS)
        failed = true;
    else
        program[length++] = (struct sock_filter){code, if_true, if_false, value};
}

static void emit_return(uint32_t action)
{
    emit(BPF_RET | BPF_K, action, 0, 0);
}

/* Loads a half of an argument; both architectures store the lower one first. */
static void emit_load(unsigned argument, unsigned half)
{
    emit(BPF_LD | BPF_W | BPF_ABS,
         (uint32_t)(offsetof(struct seccomp_data, args) + 8 * argument + 4 * half), 0, 0);
}

/* Goes on behind itself if the condition holds, else answers its error. */
static void emit_condition(const struct condition *condition)
{
    emit_load(condition->argument, 0);
    if (condition->mask != ~0U)
        emit(BPF_ALU | BPF_AND | BPF_K, condition->mask, 0, 0);
    for (unsigned i = 0; i < condition->count; i++)
        emit(BPF_JMP | BPF_JEQ | BPF_K, condition->values[i],
             (uint8_t)(condition->count - i), 0);
    emit_return(ERROR(condition->error));
}

/* Goes on behind itself unless the condition holds; then nothing is done, and 0 is answered. */
static void emit_idle(const struct condition *condition)
{
    emit_load(condition->argument, 0);
    for (unsigned i = 0; i < condition->count; i++)
        emit(BPF_JMP | BPF_JEQ | BPF_K, condition->values[i],
             (uint8_t)(condition->count - i), 0);
    emit(BPF_JMP | BPF_JA, 1, 0, 0);
    emit_return(ERROR(0));
}

static void emit_action(uint32_t action)
{
    if (action >= CONDITIONAL + LENGTH(conditions)) {
        emit_return(action);
        return;
    }
    const struct condition *condition = &conditions[action - CONDITIONAL];
    if (condition->call == record_locks.call)
        emit_idle(&record_locks);
    emit_condition(condition);
    if (condition->call == new_limit.call) {
        /* Without a new value (a null pointer, 64 bits) any limit may be read. */
        emit_load(2, 0);
        emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
        emit_load(2, 1);
        emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
        emit_return(SECCOMP_RET_ALLOW);
        emit_condition(&new_limit);
    }
    emit_return(SECCOMP_RET_ALLOW);
}

/* A decision tree over the numbers from `first` to `last`, by the numbers at which actions change. */
static void emit_tree(unsigned first, unsigned last)
{
    unsigned middle = 0, half = (first + last) / 2, best = NUMBERS;
    for (unsigned at = first + 1; at <= last; at++) {
        unsigned distance = at > half ? at - half : half - at;
        if (actions[at] != actions[at - 1] && distance < best) {
            best = distance;
            middle = at;
        }
    }
    if (!middle) {
        emit_action(actions[first]);
        return;
    }
    emit(BPF_JMP | BPF_JGE | BPF_K, middle, 0, 1);
    const unsigned short jump = length;
    emit(BPF_JMP | BPF_JA, 0, 0, 0); /* a conditional jump reaches 255 instructions only */
    emit_tree(first, middle - 1);
    if (!failed)
        program[jump].k = (uint32_t)(length - jump - 1);
    emit_tree(middle, last);
}

bool build_filter(void)
{
    decide_all(allowed, LENGTH(allowed), SECCOMP_RET_ALLOW);
    decide_all(denied, LENGTH(denied), ERROR(EPERM));
    decide_all(absent, LENGTH(absent), ERROR(ENOSYS));
    decide_all(idle, LENGTH(idle), ERROR(0));
    decide_all(unsupported, LENGTH(unsupported), ERROR(EOPNOTSUPP));
    for (unsigned i = 0; i < LENGTH(conditions); i++)
        decide(conditions[i].call, CONDITIONAL + i);
    for (unsigned number = 0; number < NUMBERS; number++)
        if (!actions[number])
            actions[number] = ERROR(ENOSYS);

    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    emit(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    emit_return(SECCOMP_RET_KILL_PROCESS);
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#ifdef __x86_64__
    /* x32 calls have that bit; so has -1, which is no call. */
    emit(BPF_JMP | BPF_JEQ | BPF_K, ~0U, 2, 0);
    emit(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    emit_return(SECCOMP_RET_KILL_PROCESS);
#endif
    emit(BPF_JMP | BPF_JGE | BPF_K, NUMBERS, 0, 1);
    emit_return(ERROR(ENOSYS));
    emit_tree(0, NUMBERS - 1);
    return !failed;
}

bool load_filter(void)
{
    const struct sock_fprog filter = {length, program};
    return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}
