/*
 * The only program of the cluster's own image: the sandbox process of every Pod ("pause") and the
 * two ends of the connection probes that prove the network at start.
 *
 *   pause                          wait for SIGTERM, reap orphans
 *   listen PORT                    accept and close connections until SIGTERM
 *   connect ADDRESS PORT SECONDS   exit 0 as soon as one connection succeeds, else 1
 *   denied ADDRESS PORT SECONDS    exit 0 as soon as three connections in a row fail, else 1
 *
 * Static and without a name resolver: it runs in an image that has nothing else.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPT_MS = 1000, PAUSE_MS = 100, DENIED_IN_A_ROW = 3 };

static void on_term(int number)
{
	(void)number;
	_exit(0);
}

static void on_child(int number)
{
	(void)number;
	int saved = errno;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = saved;
}

/* As process 1 the default action of a signal is to ignore it. */
static void install_signals(void)
{
	struct sigaction term = {.sa_handler = on_term};
	struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
	if (sigaction(SIGTERM, &term, NULL) || sigaction(SIGINT, &term, NULL) ||
	    sigaction(SIGCHLD, &child, NULL)) {
		perror("sigaction");
		exit(2);
	}
}

static void report(const char *text)
{
	puts(text);
	int fd = open("/dev/termination-log", O_WRONLY);
	if (fd < 0)
		return;
	ssize_t written = write(fd, text, strlen(text));
	(void)written;
	close(fd);
}

/* Returns 0 when connected, else the errno. */
static int try_connect(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	int error = 0;
	if (connect(fd, (const struct sockaddr *)address, sizeof *address)) {
		error = errno;
		if (error == EINPROGRESS) {
			struct pollfd waited = {.fd = fd, .events = POLLOUT};
			socklen_t size = sizeof error;
			if (poll(&waited, 1, ATTEMPT_MS) != 1)
				error = ETIMEDOUT;
			else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
				error = errno;
		}
	}
	close(fd);
	return error;
}

static int listen_forever(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 16)) {
		perror("listen");
		return 2;
	}
	for (;;) {
		int peer = accept(fd, NULL, NULL);
		if (peer >= 0)
			close(peer);
	}
}

static int probe(int want_denied, const struct sockaddr_in *address, int seconds)
{
	time_t deadline = time(NULL) + seconds;
	int failed_in_a_row = 0, error;
	char text[128];
	do {
		error = try_connect(address);
		failed_in_a_row = error ? failed_in_a_row + 1 : 0;
		if (want_denied ? failed_in_a_row == DENIED_IN_A_ROW : !error) {
			snprintf(text, sizeof text, "%s", error ? strerror(error) : "connected");
			report(text);
			return 0;
		}
		struct timespec rest = {.tv_nsec = PAUSE_MS * 1000000L};
		nanosleep(&rest, NULL);
	} while (time(NULL) < deadline);
	snprintf(text, sizeof text, "after %d s still: %s", seconds,
	         error ? strerror(error) : "connected");
	report(text);
	return 1;
}

int main(int argc, char **argv)
{
	install_signals();
	if (argc == 1 || (argc == 2 && !strcmp(argv[1], "pause")))
		for (;;)
			pause();
	if (argc == 3 && !strcmp(argv[1], "listen"))
		return listen_forever(atoi(argv[2]));
	if (argc == 5 && (!strcmp(argv[1], "connect") || !strcmp(argv[1], "denied"))) {
		struct sockaddr_in address = {.sin_family = AF_INET,
		                              .sin_port = htons((unsigned short)atoi(argv[3]))};
		if (inet_pton(AF_INET, argv[2], &address.sin_addr) == 1)
			return probe(!strcmp(argv[1], "denied"), &address, atoi(argv[4]));
	}
	fputs("usage: probe [pause | listen PORT | connect|denied ADDRESS PORT SECONDS]\n", stderr);
	return 2;
}
