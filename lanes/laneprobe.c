/*
 * laneprobe: prints what a process in this lane is and may do, as one JSON object.
 *
 * The referee runs it as an order before a submission is released and compares each fact with what
 * a lane has to be (docs/protocols.md, "Lane probe"). It reports and judges nothing. It runs under
 * the same filter, limits and uid as submitted code, so what it cannot do, that cannot do either.
 */
#define _GNU_SOURCE
#include "denied.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
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

/* Tries it rather than reading mode bits: only the kernel knows about mounts, ACLs and modules. Not
 * by opening: laned's rules for writing would hide a folder that can be filled. */
static bool can_create(const char *folder)
{
    char name[4200];
    snprintf(name, sizeof name, "%s/.laneprobe-%d", folder, getpid());
    if (mknod(name, S_IFREG | 0600, 0))
        return false;
    unlink(name);
    return true;
}

/* Devices that every container has and that keep nothing: null, zero, full, (u)random, tty. */
static bool is_harmless_device(const struct stat *status)
{
    const unsigned group = major(status->st_rdev), one = minor(status->st_rdev);
    if (!S_ISCHR(status->st_mode))
        return false;
    return (group == 1 && (one == 3 || one == 5 || one == 7 || one == 8 || one == 9))
           || (group == 5 && one == 0);
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
    static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2", NULL};
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

/* ------------------------------------------------------------------ devices and cores */

/* Every device below a folder, sorted by name; `first` says whether none was printed yet. */
static void print_devices(const char *path, bool *first, int depth)
{
    struct dirent **entries;
    const int count = depth > MAX_DEPTH ? -1 : scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inner[4096];
        struct stat status;
        const char *name = entries[i]->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..")
            || snprintf(inner, sizeof inner, "%s/%s", path, name) >= (int)sizeof inner
            || lstat(inner, &status))
            continue;
        if (S_ISDIR(status.st_mode))
            print_devices(inner, first, depth + 1);
        if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode))
            continue;
        if (!*first)
            putchar(',');
        *first = false;
        print_string(inner);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
}

/* Who gets the core of a process that crashes: a program or a socket of the node, or a file. */
static const char *core_handler(void)
{
    char pattern[8] = "";
    int file = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, pattern, sizeof pattern);
    if (file >= 0)
        close(file);
    if (length < 0)
        return "unknown";
    return *pattern == '|' ? "program" : *pattern == '@' ? "socket" : "file";
}

static void print_cores(void)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_CORE, &limit);
    printf(",\"core_limit\":[%lld,%lld]", (long long)limit.rlim_cur, (long long)limit.rlim_max);
    print_member("core_handler", core_handler());
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
    printf(",\"devices\":[");
    print_devices("/dev", &(bool){true}, 0);
    putchar(']');
    print_open("ptmx", "/dev/ptmx", O_RDWR | O_NOCTTY);
    print_open("pts_ptmx", "/dev/pts/ptmx", O_RDWR | O_NOCTTY);
    print_open("tty", "/dev/tty", O_RDWR | O_NOCTTY);
    print_open("pressure", "/proc/pressure/cpu", O_RDWR | O_NONBLOCK);
    print_cores();
    print_denied();
    puts("}");
    return fflush(stdout) || ferror(stdout);
}
