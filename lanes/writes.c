/*
 * Where the processes of a lane may write: Landlock rules, beside read-only mounts.
 *
 * Mounts cannot close every file: a container's /proc is writable, and so are, for everybody, the
 * files of /proc/pressure, through which Linux 6.5 and later take work for kernel threads and hold
 * a lock of the whole node. Making, moving and removing files is left to the mounts.
 */
#define _GNU_SOURCE
#include "writes.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Below it, a file could not be moved from one folder to another. */
enum { LEAST_VERSION = 2 };
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif

static int rules = -1; /* -1: this kernel has none */

static bool allow(int place, unsigned long long access)
{
    const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = place};
    return !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

bool build_writes(int scratch)
{
    static const char *const devices[] = {"/dev/full",   "/dev/null", "/dev/random",
                                          "/dev/tty",    "/dev/urandom", "/dev/zero"};
    const struct landlock_ruleset_attr handled = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER};

    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
        < LEAST_VERSION)
        return true;
    rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0 || !allow(scratch, handled.handled_access_fs))
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const int device = open(devices[i], O_PATH | O_CLOEXEC);
        if (device < 0)
            continue; /* the probe reports which there are */
        const bool allowed = allow(device, LANDLOCK_ACCESS_FS_WRITE_FILE);
        close(device);
        if (!allowed)
            return false;
    }
    return true;
}

bool limit_writes(void)
{
    return rules < 0 || !syscall(SYS_landlock_restrict_self, rules, 0);
}
