/*
 * laned's parser of orders under libFuzzer, with AddressSanitizer and UBSan.
 *
 * laned.c itself is included, so this is the very code that runs in a lane, from a datagram to the
 * reply. Only its ways out of the process are replaced: nothing is forked, killed or ended. 0xff
 * ends a datagram. The first byte of each says how many descriptors came with it (its lowest two
 * bits) and, above them, whether every process ends before the next one, and how.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
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

static sigjmp_buf out;
static int fake_pid = 1000;

static _Noreturn void leave_process(int status)
{
    siglongjmp(out, status + 1);
}

#define main laned_main
#define _exit leave_process
#define fork() (++fake_pid)
#define kill(pid, sig) ((void)(pid), (void)(sig), 0)
#define fputs(text, file) ((void)(text))
#define fputc(c, file) ((void)(c))
#define vfprintf(file, format, arguments) ((void)(format))
#include "../../lanes/laned.c"
#undef main
#undef _exit
#undef fork
#undef kill
#undef fputs
#undef fputc
#undef vfprintf

static int other_end = -1;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "finding: %s\n", what);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char folder[] = "/tmp/gradekeeper-orders-XXXXXX", inner[64];
    int ends[2];
    struct stat status;
    (void)argc;
    (void)argv;
    require(mkdtemp(folder), "no folder");
    /* An empty stand-in for /proc: listing the machine's processes is slow and finds none of ours. */
    snprintf(inner, sizeof inner, "%s/proc", folder);
    require(!mkdir(inner, 0700), "no folder");
    proc = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(inner, sizeof inner, "%s/scratch", folder);
    require(!mkdir(inner, 0700), "no folder");
    scratch = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(proc >= 0 && scratch >= 0 && !fstat(scratch, &status), "no folder");
    scratch_device = status.st_dev;
    require(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
            "no sockets");
    referee = ends[0];
    other_end = ends[1];
    children = open("/dev/null", O_RDONLY | O_CLOEXEC);
    require(build_filter(), "no filter");
    return 0;
}

/* Ends what runs, as reap() notes it. */
static void end_all(int status)
{
    for (int i = 0; i < MAX_LIVE; i++)
        if (slots[i].state == LIVE) {
            close(slots[i].report);
            slots[i].status = status;
            slots[i].refused = status == 0x3f ? EAGAIN : 0;
            slots[i].state = ENDED;
        }
}

static void hear(void)
{
    char message[256];
    for (ssize_t length; (length = recv(other_end, message, sizeof message, 0)) > 0;)
        require(length < (ssize_t)sizeof message && !message[length - 1], "a reply is not whole");
}

static void obey_one(const uint8_t *data, size_t size)
{
    int given[4] = {0, 0, 0, 0};
    if (!size || size > MAX_MESSAGE)
        return;
    if (*data & 0x80)
        end_all((*data & 0x7c) >> 2);
    if (size < 2)
        return; /* an empty datagram is a hang-up, which receive() sees */
    /* A copy of its very size: one byte too far is a finding. */
    char *message = malloc(size - 1);
    memcpy(message, data + 1, size - 1);
    int status = sigsetjmp(out, 0);
    if (!status)
        obey(message, size - 1, given, *data & 3);
    free(message);
    require(status == 0 || status == 1 + 0 || status == 1 + EXIT_GRAMMAR, "another exit status");
    require(reply_length < sizeof reply, "a reply does not fit");
    speak();
    hear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    while (size) {
        const uint8_t *end = memchr(data, 0xff, size);
        const size_t length = end ? (size_t)(end - data) : size;
        obey_one(data, length);
        data += length + (end != NULL);
        size -= length + (end != NULL);
    }
    end_all(0);
    memset(slots, 0, sizeof slots);
    memset(kept, 0, sizeof kept);
    reply_length = 0;
    sweep_done = false;
    if (!sigsetjmp(out, 0))
        wipe();
    hear();
    return 0;
}
