/*
 * laneprobe: prints what a process in this lane is and may do, as one JSON object.
 *
 * The referee runs it as an order before a submission is released and compares each fact with what
 * a lane has to be (docs/protocols.md, "Lane probe"). It reports and judges nothing. It runs under
 * the same filter, limits and uid as submitted code, so what it cannot do, that cannot do either.
 *
 * Arguments of denied calls are chosen so that, without the filter, a call succeeds without an
 * effect or fails with another error than the filter's wherever the kernel allows such a choice.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ENTRIES = 200000, MAX_DEPTH = 40 };

static unsigned entries_seen;
static bool first_place = true;

/* ------------------------------------------------------------------ JSON */

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            printf("\\u%04x", c); /* bytes, not characters: enough to compare paths exactly */
        else
            putchar(c);
    }
    putchar('"');
}

static void print_member(const char *name, const char *value)
{
    printf(",\"%s\":", name);
    print_string(value);
}

/* ------------------------------------------------------------------ facts of /proc */

/* The value of one line of a process's status, "" if it is absent. */
static const char *status_line_of(const char *path, const char *name)
{
    static char line[4096];
    FILE *file = fopen(path, "re");
    const size_t length = strlen(name);
    if (!file)
        return "";
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) || line[length] != ':')
            continue;
        fclose(file);
        line[strcspn(line, "\n")] = 0;
        return line + length + 1 + strspn(line + length + 1, " \t");
    }
    fclose(file);
    return "";
}

static const char *status_line(const char *name)
{
    return status_line_of("/proc/self/status", name);
}

/* What the runtime gave laned, who adds to its children but not to itself; -1 if it cannot be read. */
static int of_laned(const char *name)
{
    const char *value = status_line_of("/proc/1/status", name);
    return *value ? atoi(value) : -1;
}

/* A hexadecimal mask without its leading zeros. */
static const char *mask(const char *digits)
{
    while (*digits == '0' && digits[1])
        digits++;
    return digits;
}

/* /proc/self/uid_map with single blanks, lines separated by "; ". */
static void print_map(const char *name, const char *path)
{
    unsigned long inside, outside, count;
    char text[512] = "";
    size_t used = 0;
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3
           && used < sizeof text - 80)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lu %lu %lu",
                                 used ? "; " : "", inside, outside, count);
    if (file)
        fclose(file);
    print_member(name, text);
}

static int by_number(const void *left, const void *right)
{
    const long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

static void print_pids(void)
{
    static long pids[4096];
    size_t count = 0;
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && count < sizeof pids / sizeof *pids)
            pids[count++] = pid;
    }
    if (directory)
        closedir(directory);
    qsort(pids, count, sizeof *pids, by_number);
    printf(",\"pids_visible\":[");
    for (size_t i = 0; i < count; i++)
        printf("%s%ld", i ? "," : "", pids[i]);
    putchar(']');
}

static void print_open(const char *name, const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC);
    print_member(name, file < 0 ? strerrorname_np(errno) : "ALLOWED");
    if (file >= 0)
        close(file);
}

/* ------------------------------------------------------------------ writable places */

static void print_place(const char *path)
{
    if (!first_place)
        putchar(',');
    first_place = false;
    print_string(path);
}

/* Tries it rather than reading mode bits: only the kernel knows about mounts, ACLs and modules. */
static bool can_create(const char *folder)
{
    char name[4200];
    snprintf(name, sizeof name, "%s/.laneprobe-%d", folder, getpid());
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    close(file);
    unlink(name);
    return true;
}

/* Devices that every container has and that keep nothing: null, zero, full, (u)random, tty, ptmx. */
static bool is_harmless_device(const struct stat *status)
{
    const unsigned group = major(status->st_rdev), one = minor(status->st_rdev);
    if (!S_ISCHR(status->st_mode))
        return false;
    return (group == 1 && (one == 3 || one == 5 || one == 7 || one == 8 || one == 9))
           || (group == 5 && (one == 0 || one == 2)) || group == 136;
}

/* Names every writable file, device and folder of one mount; not what is inside such a folder. */
static void walk(const char *path, dev_t device, int depth)
{
    struct stat status;
    if (depth > MAX_DEPTH || ++entries_seen > MAX_ENTRIES || lstat(path, &status)
        || status.st_dev != device)
        return;
    if (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
        if (!is_harmless_device(&status) && !access(path, W_OK))
            print_place(path);
        return;
    }
    if (!S_ISDIR(status.st_mode))
        return;
    if (can_create(path)) {
        print_place(path);
        return;
    }
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char inner[4096];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (snprintf(inner, sizeof inner, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name)
            < (int)sizeof inner)
            walk(inner, device, depth + 1);
    }
    if (directory)
        closedir(directory);
}

/* File systems of the kernel's own objects. Only their root is tried: nothing can be stored there. */
static bool is_kernel_type(const char *type)
{
    static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2", "devpts", NULL};
    for (int i = 0; types[i]; i++)
        if (!strcmp(type, types[i]))
            return true;
    return false;
}

/* mountinfo writes blanks and backslashes of a path as \ooo. */
static void unescape(char *path)
{
    char *to = path;
    for (char *from = path; *from;) {
        unsigned byte;
        if (*from == '\\' && sscanf(from + 1, "%3o", &byte) == 1) {
            *to++ = (char)byte;
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void print_writable(void)
{
    static char line[8192];
    char *mounts[1024];
    size_t count = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && fgets(line, sizeof line, file) && count < sizeof mounts / sizeof *mounts) {
        char path[4096], type[64];
        const char *rest = strstr(line, " - ");
        if (sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1 || !rest
            || sscanf(rest, " - %63s", type) != 1)
            continue;
        unescape(path);
        mounts[count] = malloc(strlen(path) + 2);
        if (!mounts[count])
            break;
        sprintf(mounts[count++], "%c%s", is_kernel_type(type) ? 'k' : 'f', path);
    }
    if (file)
        fclose(file);
    qsort(mounts, count, sizeof *mounts, by_name);
    printf(",\"writable\":[");
    for (size_t i = 0; i < count; i++) {
        struct statvfs facts;
        struct stat status;
        const char *path = mounts[i] + 1;
        if (i && !strcmp(mounts[i], mounts[i - 1]))
            continue; /* mounted over: a path leads to the upper one, which was just tried */
        if (statvfs(path, &facts) || facts.f_flag & ST_RDONLY || lstat(path, &status))
            continue;
        if (mounts[i][0] == 'f')
            walk(path, status.st_dev, 0);
        else if (can_create(path))
            print_place(path);
    }
    putchar(']');
    if (entries_seen > MAX_ENTRIES)
        printf(",\"writable_incomplete\":true");
}

/* ------------------------------------------------------------------ denied calls */

static void print_call(const char *name, long result)
{
    static bool later;
    const char *answer = result < 0 ? strerrorname_np(errno) : "ALLOWED";
    printf("%s\"%s\":\"%s\"", later ? "," : "", name, answer ? answer : "UNKNOWN");
    later = true;
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
    printf(",\"%s\":\"%s\"", name,
           WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? "KILLED" : "ALLOWED");
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

static void print_denied(void)
{
    const pid_t self = getpid();
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t dl[3]; }
        attributes = {.size = 48};
    struct sched_param priority = {0};
    cpu_set_t cpus;
    void *const bad = (void *)1; /* an address that is never mapped: EFAULT if it is looked at */
    int key, pair[2];

    sched_getaffinity(0, sizeof cpus, &cpus);
    printf(",\"denied\":{");
    print_call("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
    print_call("socket_inet6", socket(AF_INET6, SOCK_STREAM, 0));
    print_call("socket_inet_udp", socket(AF_INET, SOCK_DGRAM, 0));
    print_call("socket_netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    print_call("socket_packet", socket(AF_PACKET, SOCK_RAW, 0));
    print_call("socket_vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    print_call("socket_alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
    print_call("socketpair_inet", socketpair(AF_INET, SOCK_STREAM, 0, pair));
    print_call("ptrace", syscall(SYS_ptrace, 3, self, 0, 0));
    print_call("process_vm_readv", syscall(SYS_process_vm_readv, self, NULL, 0, NULL, 0, 0));
    print_call("process_vm_writev", syscall(SYS_process_vm_writev, self, NULL, 0, NULL, 0, 0));
    print_call("process_madvise", syscall(SYS_process_madvise, -1, NULL, 0, 0, 0));
    print_call("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
    print_call("kcmp", syscall(SYS_kcmp, self, self, 0, 0, 0));
    print_call("prlimit64_other", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, NULL, NULL));
    print_call("sched_setscheduler_other", syscall(SYS_sched_setscheduler, 1, 0, &priority));
    print_call("sched_setparam_other", syscall(SYS_sched_setparam, 1, &priority));
    print_call("sched_setattr_other", syscall(SYS_sched_setattr, 1, &attributes, 0));
    print_call("sched_setaffinity_other",
               syscall(SYS_sched_setaffinity, 1, sizeof cpus, &cpus));
    print_call("setpriority", syscall(SYS_setpriority, PRIO_PROCESS, 0, 0));
    print_call("ioprio_set", syscall(SYS_ioprio_set, 1, 0, 0));
    print_call("move_pages", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
    print_call("migrate_pages", syscall(SYS_migrate_pages, 0, 0, NULL, NULL));
    print_call("shmget", key = (int)syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600));
    if (key >= 0)
        syscall(SYS_shmctl, key, IPC_RMID, NULL);
    print_call("shmat", syscall(SYS_shmat, -1, NULL, 0));
    print_call("shmctl", syscall(SYS_shmctl, -1, IPC_RMID, NULL));
    print_call("shmdt", syscall(SYS_shmdt, bad));
    print_call("semget", key = (int)syscall(SYS_semget, IPC_PRIVATE, 1, 0600));
    if (key >= 0)
        syscall(SYS_semctl, key, 0, IPC_RMID, NULL);
    print_call("semop", syscall(SYS_semop, -1, bad, 1));
    print_call("semtimedop", syscall(SYS_semtimedop, -1, bad, 1, NULL));
    print_call("semctl", syscall(SYS_semctl, -1, 0, IPC_RMID, NULL));
    print_call("msgget", key = (int)syscall(SYS_msgget, IPC_PRIVATE, 0600));
    if (key >= 0)
        syscall(SYS_msgctl, key, IPC_RMID, NULL);
    print_call("msgsnd", syscall(SYS_msgsnd, -1, bad, 0, 0));
    print_call("msgrcv", syscall(SYS_msgrcv, -1, bad, 0, 0, 0));
    print_call("msgctl", syscall(SYS_msgctl, -1, IPC_RMID, NULL));
    print_call("mq_open", syscall(SYS_mq_open, bad, O_RDWR, 0, NULL));
    print_call("mq_unlink", syscall(SYS_mq_unlink, bad));
    print_call("mq_timedsend", syscall(SYS_mq_timedsend, -1, bad, 0, 0, NULL));
    print_call("mq_timedreceive", syscall(SYS_mq_timedreceive, -1, bad, 0, NULL, NULL));
    print_call("mq_notify", syscall(SYS_mq_notify, -1, NULL));
    print_call("mq_getsetattr", syscall(SYS_mq_getsetattr, -1, NULL, NULL));
    print_call("memfd_create", syscall(SYS_memfd_create, bad, 0));
#ifdef SYS_memfd_secret
    print_call("memfd_secret", syscall(SYS_memfd_secret, ~0U));
#endif
    print_call("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
    print_call("add_key", syscall(SYS_add_key, bad, bad, NULL, 0, -3));
    print_call("request_key", syscall(SYS_request_key, bad, bad, NULL, 0));
    print_call("io_uring_setup", syscall(SYS_io_uring_setup, 1, bad));
    print_call("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
    print_call("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
    print_call("userfaultfd", syscall(SYS_userfaultfd, 1));
    print_call("perf_event_open", syscall(SYS_perf_event_open, bad, 0, -1, -1, 0));
    print_call("bpf", syscall(SYS_bpf, 0, bad, 4096));
    print_call("unshare", syscall(SYS_unshare, 0));
    print_call("setns", syscall(SYS_setns, -1, 0));
    print_call("mount", syscall(SYS_mount, bad, bad, bad, 0, NULL));
    print_call("umount2", syscall(SYS_umount2, bad, 0));
    print_call("pivot_root", syscall(SYS_pivot_root, bad, bad));
    print_call("chroot", syscall(SYS_chroot, bad));
    print_call("open_tree", syscall(SYS_open_tree, -1, bad, 0));
    print_call("move_mount", syscall(SYS_move_mount, -1, bad, -1, bad, 0));
#ifdef SYS_mount_setattr
    print_call("mount_setattr", syscall(SYS_mount_setattr, -1, bad, 0x80000000U, bad, 0));
#endif
    print_call("fsopen", syscall(SYS_fsopen, bad, 0));
    print_call("fsconfig", syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0));
    print_call("fsmount", syscall(SYS_fsmount, -1, 0, 0));
    print_call("fspick", syscall(SYS_fspick, -1, bad, 0));
    print_call("clone_newuser", clone_with(CLONE_NEWUSER));
    print_call("clone_newns", clone_with(CLONE_NEWNS));
    print_call("clone_newuts", clone_with(CLONE_NEWUTS));
    print_call("clone_newipc", clone_with(CLONE_NEWIPC));
    print_call("clone_newpid", clone_with(CLONE_NEWPID));
    print_call("clone_newnet", clone_with(CLONE_NEWNET));
    print_call("clone_newcgroup", clone_with(CLONE_NEWCGROUP));
    print_call("clone3", syscall(SYS_clone3, NULL, 0));
#ifdef __x86_64__
    print_foreign("i386", call_i386);
    print_foreign("x32", call_x32);
#endif
    putchar('}');
}

/* ------------------------------------------------------------------ all together */

static bool exists(const char *path)
{
    struct stat status;
    return !lstat(path, &status);
}

int main(void)
{
    static gid_t groups[1024];
    struct statvfs facts;
    const int count = getgroups(sizeof groups / sizeof *groups, groups);

    printf("{\"uid\":%u,\"gid\":%u,\"groups\":[", getuid(), getgid());
    for (int i = 0; i < count; i++)
        printf("%s%u", i ? "," : "", groups[i]);
    putchar(']');
    print_map("uid_map", "/proc/self/uid_map");
    print_map("gid_map", "/proc/self/gid_map");
    print_member("cap_eff", mask(status_line("CapEff")));
    print_member("cap_prm", mask(status_line("CapPrm")));
    print_member("cap_bnd", mask(status_line("CapBnd")));
    print_member("cap_amb", mask(status_line("CapAmb")));
    printf(",\"no_new_privs\":%d,\"seccomp\":%d", atoi(status_line("NoNewPrivs")),
           atoi(status_line("Seccomp")));
    print_writable();
    printf(",\"root_readonly\":%s",
           !statvfs("/", &facts) && facts.f_flag & ST_RDONLY ? "true" : "false");
    printf(",\"shm_bytes\":%llu", statvfs("/dev/shm", &facts)
                                      ? 0ULL
                                      : (unsigned long long)facts.f_blocks * facts.f_frsize);
    printf(",\"token\":%s",
           exists("/var/run/secrets") || exists("/run/secrets") ? "true" : "false");
    printf(",\"pid\":%d", getpid());
    print_pids();
    print_open("proc1_environ", "/proc/1/environ", O_RDONLY);
    print_open("proc1_mem", "/proc/1/mem", O_RDWR);
    print_open("proc1_maps", "/proc/1/maps", O_RDONLY);
    print_open("proc1_fd", "/proc/1/fd", O_RDONLY | O_DIRECTORY);
    print_open("proc1_oom", "/proc/1/oom_score_adj", O_WRONLY);
    printf(",\"proc1_no_new_privs\":%d,\"proc1_seccomp\":%d", of_laned("NoNewPrivs"),
           of_laned("Seccomp"));
    print_denied();
    puts("}");
    return fflush(stdout) || ferror(stdout);
}
