/*
 * laned: the supervisor of a lane, the container in which submitted code is compiled and run.
 *
 * It is PID 1 of the lane, connects to the referee's socket, and does what the referee says: start a
 * process with given descriptors, limits, the system call filter of filter.c and the rules for
 * writing of writes.c; report how it ended; kill one; kill everything and empty the scratch folder.
 * docs/protocols.md, "laned orders", is the contract. laned decides nothing and keeps no secret.
 *
 * Submitted code runs under laned's own uid. What protects laned from it:
 *   - PID 1 without signal handlers cannot be hit by a signal from inside its own PID namespace;
 *   - it is not dumpable, so its memory, environment and descriptors are closed to its own uid;
 *   - the filter removes the calls that act on other processes by number.
 * Submitted code can still starve laned. That is why the referee owns every deadline.
 *
 * laned never waits for a child without a bound that the child cannot move, and never blocks on the
 * socket: while the referee does not read, laned keeps reaping and takes no further orders.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "writes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_MESSAGE = 60 * 1024,
    MAX_ARGS = 512,
    MAX_ENV = 256,
    MAX_LIVE = 16,
    MAX_KEPT = 64,
    MAX_NAME = 64,
    CONNECT_SECONDS = 600,
};
/* Looks, of at most 20 ms each, not seconds: a frozen node must not look like a process that does
 * not die, and costs one look however long it is. */
#ifndef REAP_LOOKS
#define REAP_LOOKS 2000
#endif
/* Processor seconds, not seconds: a slow node must not look like a hostile tree. */
#ifndef WIPE_CPU_SECONDS
#define WIPE_CPU_SECONDS 10
#endif

enum { EXIT_GRAMMAR = 2, EXIT_UNABLE = 3 };

/* ------------------------------------------------------------------ state */

struct slot {
    enum { FREE, LIVE, ENDED } state;
    unsigned id;
    pid_t pid;      /* also the session id of everything the order started and that did not leave it */
    int report;     /* read end: an errno if the child could not be set up, nothing once it is running */
    int status;
    int refused;    /* errno, 0 if the process did run */
    uint64_t cpu_us;
    long maxrss_kib;
    unsigned left;  /* processes of no live order when it ended, and one for what is in scratch */
    char scratch[MAX_NAME + 1];
};

static struct slot slots[MAX_LIVE];
static char kept[MAX_KEPT][MAX_NAME + 1]; /* scratch folders that a sweep leaves alone */
static char reply[128];                   /* a message that is not sent yet; empty: reply_length 0 */
static size_t reply_length;
static bool sweep_done;
static unsigned sweep_killed;
static int referee = -1, scratch = -1, children = -1, proc = -1;
static dev_t scratch_device;

static _Noreturn void stop(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void stop(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("laned: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    /* The end of PID 1 is the end of its namespace: the kernel kills whatever still runs. */
    _exit(status);
}

/* ------------------------------------------------------------------ messages */

static const struct {
    const char *key;
    int resource;
} limit_names[] = {
    {"cpu", RLIMIT_CPU},       {"as", RLIMIT_AS},     {"fsize", RLIMIT_FSIZE},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},
};
enum { LIMITS = sizeof limit_names / sizeof *limit_names };

struct order {
    unsigned id;
    const char *cwd, *scratch;
    int wipe; /* -1: not said */
    bool limited[LIMITS];
    rlim_t limits[LIMITS];
    char *argv[MAX_ARGS + 1], *envp[MAX_ENV + 1];
    int argc, envc;
};

/* Decimal digits without a sign, blanks or a leading zero; anything else ends laned. */
static uint64_t number(const char *text, uint64_t most)
{
    uint64_t value = 0;
    if (!*text || (*text == '0' && text[1]))
        stop(EXIT_GRAMMAR, "not a number");
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            stop(EXIT_GRAMMAR, "not a number");
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > most)
            stop(EXIT_GRAMMAR, "a number is too large");
    }
    return value;
}

static unsigned identifier(const char *text)
{
    uint64_t id = number(text, 999999);
    if (!id)
        stop(EXIT_GRAMMAR, "an id is 0");
    return (unsigned)id;
}

static void check_name(const char *name)
{
    size_t length = strspn(
        name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    if (!length || length > MAX_NAME || name[length])
        stop(EXIT_GRAMMAR, "a scratch name is not letters, digits and hyphens");
}

static void read_limit(struct order *order, const char *key, const char *value)
{
    for (int i = 0; i < LIMITS; i++) {
        if (strcmp(key, limit_names[i].key))
            continue;
        if (order->limited[i])
            stop(EXIT_GRAMMAR, "%s is given twice", key);
        order->limited[i] = true;
        order->limits[i] = number(value, INT64_MAX);
        return;
    }
    stop(EXIT_GRAMMAR, "unknown field");
}

static void read_field(struct order *order, char *key, char *value)
{
    if (!strcmp(key, "arg")) {
        if (order->argc == MAX_ARGS)
            stop(EXIT_GRAMMAR, "too many arguments");
        order->argv[order->argc++] = value;
    } else if (!strcmp(key, "env")) {
        if (order->envc == MAX_ENV || *value == '=' || !strchr(value, '='))
            stop(EXIT_GRAMMAR, "too many variables, or one without a name");
        order->envp[order->envc++] = value;
    } else if (!strcmp(key, "id") && !order->id) {
        order->id = identifier(value);
    } else if (!strcmp(key, "cwd") && !order->cwd && *value == '/') {
        order->cwd = value;
    } else if (!strcmp(key, "scratch") && !order->scratch) {
        check_name(value);
        order->scratch = value;
    } else if (!strcmp(key, "wipe") && order->wipe < 0) {
        order->wipe = (int)number(value, 1);
    } else {
        read_limit(order, key, value);
    }
}

/* The next NUL-terminated string of a message, or NULL at its end. */
static char *next(char **cursor, const char *end)
{
    char *text = *cursor;
    if (text == end)
        return NULL;
    *cursor = (char *)memchr(text, 0, (size_t)(end - text)) + 1;
    return text;
}

/* Splits "key=value" in place. */
static char *split(char *field)
{
    char *equals = strchr(field, '=');
    if (!equals)
        stop(EXIT_GRAMMAR, "a field without '='");
    *equals = 0;
    return equals + 1;
}

static _Noreturn void leave(void)
{
    kill(-1, SIGKILL);
    _exit(0);
}

/* Sends what there is to say, oldest first, until it is said or the socket is full. */
static bool speak(void)
{
    for (;;) {
        for (int i = 0; !reply_length && i < MAX_LIVE; i++) {
            struct slot *slot = &slots[i];
            if (slot->state != ENDED)
                continue;
            int length;
            if (slot->refused)
                length = snprintf(reply, sizeof reply, "refused%cid=%u%cerror=%s%c", 0, slot->id, 0,
                                  strerrorname_np(slot->refused), 0);
            else
                length = snprintf(reply, sizeof reply,
                                  "exit%cid=%u%c%s=%d%ccpu_us=%llu%cmaxrss_kib=%ld%cleft=%u%c", 0,
                                  slot->id,
                                  0, WIFSIGNALED(slot->status) ? "signal" : "status",
                                  WIFSIGNALED(slot->status) ? WTERMSIG(slot->status)
                                                            : WEXITSTATUS(slot->status),
                                  0, (unsigned long long)slot->cpu_us, 0, slot->maxrss_kib, 0,
                                  slot->left, 0);
            reply_length = (size_t)length;
            slot->state = FREE;
        }
        if (!reply_length && sweep_done) {
            reply_length = (size_t)snprintf(reply, sizeof reply, "swept%ckilled=%u%c", 0,
                                            sweep_killed, 0);
            sweep_done = false;
        }
        if (!reply_length)
            return true;
        if (send(referee, reply, reply_length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            reply_length = 0;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return false;
        } else if (errno != EINTR) {
            leave(); /* the referee is gone */
        }
    }
}

/* ------------------------------------------------------------------ folders */

static DIR *open_folder(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (folder < 0)
        return NULL;
    if (fstat(folder, &status) || status.st_dev != scratch_device) {
        close(folder); /* a mount: not ours to empty */
        errno = EXDEV;
        return NULL;
    }
    DIR *entries = fdopendir(folder);
    if (!entries)
        close(folder);
    return entries;
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool is_kept(const char *name)
{
    for (int i = 0; i < MAX_KEPT; i++)
        if (*name && !strcmp(kept[i], name))
            return true;
    return false;
}

static bool is_empty(const char *name)
{
    DIR *folder = open_folder(scratch, name);
    if (!folder)
        return false;
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(folder));)
        empty = is_dots(entry->d_name);
    closedir(folder);
    return empty;
}

/* Whether it is the scratch folder of an order that has not ended. */
static bool is_live(const char *name)
{
    for (int i = 0; i < MAX_LIVE; i++)
        if (slots[i].state == LIVE && !strcmp(slots[i].scratch, name))
            return true;
    return false;
}

/* ------------------------------------------------------------------ processes */

struct process {
    pid_t pid, session;
};

static DIR *list_processes(void)
{
    int directory = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = directory < 0 ? NULL : fdopendir(directory);
    if (!entries)
        stop(EXIT_UNABLE, "cannot list processes");
    return entries;
}

/* The next living process but laned itself; false after the last. */
static bool next_process(DIR *entries, struct process *found)
{
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[32], text[512], state;
        long pid = strtol(entry->d_name, NULL, 10), session, threads;
        if (pid <= 1 || snprintf(path, sizeof path, "%ld/stat", pid) >= (int)sizeof path)
            continue;
        int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        text[length < 0 ? 0 : length] = 0;
        /* The name in parentheses may hold anything, parentheses too: the last one ends it. */
        char *rest = strrchr(text, ')');
        if (!rest
            || sscanf(rest + 1,
                      " %c %*d %*d %ld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                      &state, &session, &threads)
                   != 3)
            continue;
        /* One whose first thread has ended looks like a zombie while the others go on. */
        if ((state != 'Z' && state != 'X') || threads > 1) {
            *found = (struct process){(pid_t)pid, (pid_t)session};
            return true;
        }
    }
    return false;
}

/* How many processes belong to no live order: what ended ones left, and who left his session. */
static unsigned count_strays(void)
{
    unsigned count = 0;
    DIR *entries = list_processes();
    for (struct process each; next_process(entries, &each);) {
        bool ours = false;
        for (int i = 0; i < MAX_LIVE; i++) /* a new one may not have reached setsid() */
            ours |= slots[i].state == LIVE
                    && (slots[i].pid == each.pid || slots[i].pid == each.session);
        count += !ours;
    }
    closedir(entries);
    return count;
}

/* Removes the folders of ended orders that are empty. Returns 1 if anything is in the scratch
 * folder but what is kept and the empty folders of live orders, else 0. */
static unsigned look_for_litter(unsigned ended)
{
    for (int i = 0; i < MAX_LIVE; i++)
        if (ended & 1u << i && !is_kept(slots[i].scratch) && !is_live(slots[i].scratch))
            unlinkat(scratch, slots[i].scratch, AT_REMOVEDIR);
    bool found = false;
    DIR *root = open_folder(scratch, ".");
    if (!root)
        return 1;
    for (struct dirent *entry; !found && (entry = readdir(root));) {
        if (is_dots(entry->d_name) || is_kept(entry->d_name))
            continue;
        found = !is_live(entry->d_name) || !is_empty(entry->d_name);
    }
    closedir(root);
    return found;
}

/* Collects every ended child, orders and orphans alike. Returns how many. */
static unsigned reap(void)
{
    unsigned count = 0;
    unsigned ended = 0; /* slots, by bit */
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &usage);
        if (pid <= 0)
            break;
        count++;
        for (int i = 0; i < MAX_LIVE; i++) {
            struct slot *slot = &slots[i];
            if (slot->state != LIVE || slot->pid != pid)
                continue;
            int error;
            slot->refused = read(slot->report, &error, sizeof error) == sizeof error ? error : 0;
            close(slot->report);
            slot->status = status;
            slot->cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
                           + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
            slot->maxrss_kib = usage.ru_maxrss;
            slot->state = ENDED;
            ended |= 1u << i;
        }
    }
    if (ended) {
        unsigned left = count_strays() + look_for_litter(ended);
        for (int i = 0; i < MAX_LIVE; i++)
            if (ended & 1u << i)
                slots[i].left = left;
    }
    return count;
}

/* Between fork and exec. Says why it cannot go on through `report`, which exec closes. */
static _Noreturn void become(const struct order *order, const int *given, int report)
{
    int error;
    sigset_t none;
    /* While their descriptor is open, and not overwritten by one of the order's. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !limit_writes())
        goto fail;
    setsid();
    umask(022);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL); /* a runtime may start PID 1 with some ignored */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++)
        if (dup2(given[i], i) < 0)
            goto fail;
    if (dup3(report, 3, O_CLOEXEC) < 0 && report != 3)
        goto fail;
    report = 3;
    if (close_range(4, ~0U, 0) < 0)
        goto fail;
    if (chdir(order->cwd))
        goto fail;
    for (int i = 0; i < LIMITS; i++) {
        struct rlimit limit;
        if (!order->limited[i])
            continue;
        if (getrlimit(limit_names[i].resource, &limit))
            goto fail;
        rlim_t value = order->limits[i] < limit.rlim_max ? order->limits[i] : limit.rlim_max;
        limit.rlim_cur = value;
        /* One second between SIGXCPU, which names the cause, and SIGKILL, which ends it. */
        if (limit_names[i].resource != RLIMIT_CPU || limit.rlim_max - value < 1)
            limit.rlim_max = value;
        else
            limit.rlim_max = value + 1;
        if (setrlimit(limit_names[i].resource, &limit))
            goto fail;
    }
    if (!load_filter())
        goto fail;
    execve(order->argv[0], order->argv, order->envp);
    _exit(127);
fail:
    error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(126);
}

/* Makes the order's scratch folder and notes what a sweep has to do with it. Returns an errno. */
static int prepare_scratch(const struct order *order)
{
    int empty = -1, found = -1;
    for (int i = 0; i < MAX_KEPT; i++) {
        if (!strcmp(kept[i], order->scratch))
            found = i;
        else if (!*kept[i] && empty < 0)
            empty = i;
    }
    if (order->wipe != 0 && found >= 0)
        *kept[found] = 0;
    if (order->wipe == 0 && found < 0) {
        if (empty < 0)
            return ENOSPC;
        strcpy(kept[empty], order->scratch);
    }
    if (mkdirat(scratch, order->scratch, 0700) && errno != EEXIST)
        return errno;
    struct stat entry;
    if (fstatat(scratch, order->scratch, &entry, AT_SYMLINK_NOFOLLOW))
        return errno;
    if (!S_ISDIR(entry.st_mode))
        return ENOTDIR; /* an order of the same batch put something else there */
    return fchmodat(scratch, order->scratch, 0700, 0) ? errno : 0;
}

static void start(struct order *order, int *given)
{
    struct slot *slot = NULL, *twin = NULL;
    for (int i = 0; i < MAX_LIVE; i++) {
        if (slots[i].state == FREE)
            slot = slot ? slot : &slots[i];
        else if (slots[i].id == order->id)
            twin = &slots[i];
    }
    if (twin)
        stop(EXIT_GRAMMAR, "id %u is in use", order->id);
    if (!slot) {
        reply_length = (size_t)snprintf(reply, sizeof reply, "refused%cid=%u%cerror=EAGAIN%c", 0,
                                        order->id, 0, 0);
        return;
    }
    int pipes[2];
    slot->id = order->id;
    strcpy(slot->scratch, order->scratch);
    slot->refused = prepare_scratch(order);
    if (!slot->refused && pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
        slot->refused = errno;
    if (!slot->refused) {
        slot->pid = fork();
        if (!slot->pid)
            become(order, given, pipes[1]);
        if (slot->pid < 0) {
            slot->refused = errno;
            close(pipes[0]);
        }
        slot->report = pipes[0];
        close(pipes[1]);
    }
    slot->state = slot->refused ? ENDED : LIVE;
}

/* Sends SIGKILL to the living members of a session. Returns how many there were. */
static unsigned kill_session(pid_t session)
{
    unsigned found = 0;
    DIR *entries = list_processes();
    for (struct process each; next_process(entries, &each);) {
        if (each.session == session) {
            found++;
            kill(each.pid, SIGKILL);
        }
    }
    closedir(entries);
    return found;
}

static void kill_order(unsigned id)
{
    const struct timespec moment = {0, 500 * 1000};
    for (int i = 0; i < MAX_LIVE; i++) {
        if (slots[i].state != LIVE || slots[i].id != id)
            continue;
        /* Listing is not atomic: something may fork past it. What gets past every round leaves no
         * trace beyond the batch, because the sweep's kill(-1) is atomic. */
        for (int round = 0; round < 50; round++) {
            kill(slots[i].pid, SIGKILL); /* it may not have reached setsid() */
            kill(-slots[i].pid, SIGKILL);
            if (!kill_session(slots[i].pid))
                break;
            nanosleep(&moment, NULL);
        }
    }
}

/* ------------------------------------------------------------------ scratch */

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool removed(int parent, const char *name)
{
    return !unlinkat(parent, name, 0)
           || ((errno == EISDIR || errno == EPERM) && !unlinkat(parent, name, AT_REMOVEDIR));
}

static void spend(double start, uint64_t steps)
{
    if (!(steps % 256) && seconds(CLOCK_PROCESS_CPUTIME_ID) - start > WIPE_CPU_SECONDS)
        stop(EXIT_UNABLE, "the scratch folder takes too long to empty");
}

/*
 * Empties the scratch folder but for what is kept. A tree is taken apart by moving each folder that
 * is not empty up to the root before it is emptied: one open folder at a time and no recursion,
 * however deep or wide the tree. Nothing else runs by now, so nothing can be swapped under us.
 */
static void wipe(void)
{
    const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t salt, steps = 0;
    if (getrandom(&salt, sizeof salt, 0) != sizeof salt)
        stop(EXIT_UNABLE, "no random numbers");
    for (bool left = true; left;) {
        uint64_t changes = 0;
        left = false;
        DIR *root = open_folder(scratch, ".");
        if (!root)
            stop(EXIT_UNABLE, "cannot read the scratch folder: %s", strerrorname_np(errno));
        for (struct dirent *entry; (entry = readdir(root));) {
            if (is_dots(entry->d_name) || is_kept(entry->d_name))
                continue;
            spend(start, ++steps);
            if (removed(scratch, entry->d_name)) {
                changes++;
                continue;
            }
            left = true;
            DIR *folder = NULL;
            if (!fchmodat(scratch, entry->d_name, 0700, 0))
                folder = open_folder(scratch, entry->d_name);
            if (!folder)
                continue; /* if nothing else changes either, the round below ends laned */
            for (struct dirent *inner; (inner = readdir(folder));) {
                char name[64];
                if (is_dots(inner->d_name))
                    continue;
                spend(start, ++steps);
                if (removed(dirfd(folder), inner->d_name)) {
                    changes++;
                    continue;
                }
                snprintf(name, sizeof name, ".%016llx-%llu", (unsigned long long)salt,
                         (unsigned long long)steps);
                /* Moving a folder rewrites its "..", so it has to be writable. */
                changes += !fchmodat(dirfd(folder), inner->d_name, 0700, 0)
                           && !renameat(dirfd(folder), inner->d_name, scratch, name);
            }
            closedir(folder);
            changes += removed(scratch, entry->d_name);
        }
        closedir(root);
        if (left && !changes)
            stop(EXIT_UNABLE, "the scratch folder cannot be emptied");
    }
}

static void sweep(void)
{
    struct signalfd_siginfo ignored;
    sweep_killed = 0;
    for (int looks = 0;; looks++) {
        kill(-1, SIGKILL);
        sweep_killed += reap();
        /* Everything in the namespace is, or becomes by its parent's death, a child of PID 1. */
        if (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0
            && errno == ECHILD)
            break;
        if (looks >= REAP_LOOKS)
            stop(EXIT_UNABLE, "a process does not die");
        poll(&(struct pollfd){children, POLLIN, 0}, 1, 20);
        while (read(children, &ignored, sizeof ignored) > 0)
            ;
    }
    wipe();
    sweep_done = true;
}

/* ------------------------------------------------------------------ orders */

static void obey(char *message, size_t length, int *given, int count)
{
    char *cursor = message, *end = message + length;
    if (end[-1])
        stop(EXIT_GRAMMAR, "a message does not end in NUL");
    char *verb = next(&cursor, end);
    if (count != (strcmp(verb, "order") ? 0 : 3))
        stop(EXIT_GRAMMAR, "%d descriptors", count);
    if (!strcmp(verb, "order")) {
        static struct order order;
        order = (struct order){.wipe = -1};
        for (char *key; (key = next(&cursor, end));) {
            char *value = split(key);
            read_field(&order, key, value);
        }
        if (!order.id || !order.cwd || !order.scratch || !order.argc || *order.argv[0] != '/')
            stop(EXIT_GRAMMAR, "an order needs id, cwd, scratch and an absolute program");
        start(&order, given);
    } else if (!strcmp(verb, "kill")) {
        char *key = next(&cursor, end);
        char *value = key ? split(key) : NULL;
        if (!key || strcmp(key, "id") || cursor != end)
            stop(EXIT_GRAMMAR, "kill takes an id");
        kill_order(identifier(value));
    } else if (cursor != end) {
        stop(EXIT_GRAMMAR, "fields after a verb that takes none");
    } else if (!strcmp(verb, "sweep")) {
        sweep();
    } else if (!strcmp(verb, "quit")) {
        leave();
    } else {
        stop(EXIT_GRAMMAR, "unknown verb");
    }
}

static void receive(void)
{
    static char message[MAX_MESSAGE];
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {message, sizeof message};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control};
    int given[4], count = 0;
    ssize_t length = recvmsg(referee, &envelope, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0)
        leave();
    if (envelope.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        stop(EXIT_GRAMMAR, "a message or its descriptors are too many");
    struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
    if (header) {
        /* The padded buffer has room for a fourth: obey() then counts it and ends laned. */
        count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS || count > 4)
            stop(EXIT_GRAMMAR, "unexpected ancillary data");
        memcpy(given, CMSG_DATA(header), (size_t)count * sizeof(int));
    }
    obey(message, (size_t)length, given, count);
    for (int i = 0; i < count; i++)
        close(given[i]);
}

/* ------------------------------------------------------------------ start */

static void connect_referee(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timespec pause = {0, 1000 * 1000};
    const double deadline = seconds(CLOCK_MONOTONIC) + CONNECT_SECONDS;
    if (strlen(path) >= sizeof address.sun_path)
        stop(EXIT_UNABLE, "the socket's path is too long");
    strcpy(address.sun_path, path);
    referee = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (referee < 0)
        stop(EXIT_UNABLE, "no socket: %s", strerrorname_np(errno));
    /* The containers of a Pod start in any order. */
    while (connect(referee, (struct sockaddr *)&address, sizeof address)) {
        if (seconds(CLOCK_MONOTONIC) > deadline)
            stop(EXIT_UNABLE, "no referee at %s: %s", path, strerrorname_np(errno));
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 16 * 1000 * 1000)
            pause.tv_nsec *= 2;
    }
}

static void open_scratch(const char *path)
{
    struct stat status;
    scratch = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch < 0 || fstat(scratch, &status))
        stop(EXIT_UNABLE, "no scratch folder %s", path);
    scratch_device = status.st_dev;
    DIR *entries = open_folder(scratch, ".");
    if (!entries)
        stop(EXIT_UNABLE, "cannot read the scratch folder");
    /* Sweeps empty this folder. Starting only on an empty one loses nobody's files to a typing
     * error, and no lane begins with what another left. */
    for (struct dirent *entry; (entry = readdir(entries));)
        if (!is_dots(entry->d_name))
            stop(EXIT_UNABLE, "the scratch folder %s is not empty", path);
    closedir(entries);
}

/*
 * A crash starts the node's core handler, as its root and outside the lane's limits, if there is one
 * and whatever the limit of a core is, but for 1: the kernel takes that for the handler's own crash.
 * All processes of the lane inherit it, and the filter keeps it. A lower limit of the runtime stays;
 * laneprobe reports what is in force.
 */
static void limit_cores(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit))
        stop(EXIT_UNABLE, "no core limit: %s", strerrorname_np(errno));
    limit.rlim_max = limit.rlim_max < 1 ? limit.rlim_max : 1;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_CORE, &limit))
        stop(EXIT_UNABLE, "cannot limit cores: %s", strerrorname_np(errno));
}

int main(int argc, char **argv)
{
    const char *folder = "/scratch";
    char self[16];
    sigset_t signals;

    prctl(PR_SET_DUMPABLE, 0);
    if (argc == 4 && !strcmp(argv[1], "--scratch")) {
        folder = argv[2];
        argv += 2;
    } else if (argc != 2) {
        stop(EXIT_UNABLE, "usage: laned [--scratch DIR] SOCKET");
    }
    /* A sweep is kill(-1, SIGKILL). Only for PID 1 does that end at its own namespace. */
    if (getpid() != 1)
        stop(EXIT_UNABLE, "not PID 1 of a PID namespace");
    proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0 || readlinkat(proc, "self", self, sizeof self) != 1 || *self != '1')
        stop(EXIT_UNABLE, "/proc does not show this PID namespace");
    /* Descriptors 0 to 2 must be taken, or received ones land there and get overwritten. */
    for (int null = 0; null <= 2;)
        if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
            stop(EXIT_UNABLE, "no /dev/null");
    open_scratch(folder);
    if (!build_filter())
        stop(EXIT_UNABLE, "cannot build the filter");
    if (!build_writes(scratch))
        stop(EXIT_UNABLE, "cannot limit writes: %s", strerrorname_np(errno));
    limit_cores();
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    children = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children < 0)
        stop(EXIT_UNABLE, "no signalfd");
    connect_referee(argv[1]);
    reply_length = (size_t)snprintf(reply, sizeof reply, "hello%cprotocol=3%cpid=%d%cuid=%u%c", 0,
                                    0, getpid(), 0, getuid(), 0);
    for (;;) {
        struct signalfd_siginfo ignored;
        const bool said = speak();
        struct pollfd sources[] = {{referee, said ? POLLIN : POLLOUT, 0}, {children, POLLIN, 0}};
        if (poll(sources, 2, -1) < 0 && errno != EINTR)
            stop(EXIT_UNABLE, "poll: %s", strerrorname_np(errno));
        if (sources[1].revents) {
            while (read(children, &ignored, sizeof ignored) > 0)
                ;
            reap();
        }
        if (said && sources[0].revents & (POLLIN | POLLHUP | POLLERR))
            receive();
        else if (!said && sources[0].revents & (POLLHUP | POLLERR))
            leave();
    }
}
