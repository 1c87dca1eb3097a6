// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The node's agent: process 1 of a node, the guest's end of the host's commands.
 *
 * Owns: the virtio-serial port, the processes it starts for the host, their pipes and terminals.
 * Called by: init.sh, which becomes it; spoken to by wire.rs (the frames) and link.rs (the order of frames).
 * Must never: exit (the kernel would panic), interpret a command, or mix a job's output with anything else.
 *
 * Built statically by provision/agent.rs with the compiler of the root tree.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { READY = 1, STDOUT, STDERR, EXIT, FAILED, RUN = 16, STDIN, STDIN_END, SIGNAL, WINDOW, POWEROFF };

/* little-endian on the wire; x86 and arm64 nodes are little-endian as well */
struct header {
	uint32_t length;	/* of the payload that follows */
	uint16_t job;		/* chosen by the host, unique while the job lives */
	uint8_t kind;
	uint8_t version;
};

struct start {			/* payload of RUN; then NUL-terminated: directory, environment, arguments */
	uint16_t terminal, rows, columns, environment, arguments;
};

#define VERSION 1
#define LARGEST (1 << 20)
#define JOBS 64

struct job {
	uint16_t id;
	pid_t pid;		/* 0: the slot is free */
	int ended;		/* reaped, EXIT sent; output that still comes is dropped */
	int in, out, err;	/* our ends; -1 when closed; in == out for a terminal */
	int in_ends;		/* close in once the queue is empty */
	char *queue;		/* input the program has not yet taken */
	size_t queued;
};

static struct job jobs[JOBS];
static int port;
static int once;		/* the only job came with the initramfs; the node ends with it */

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
}

static void all_of(int fd, const char *data, size_t length)
{
	while (length) {
		ssize_t n = write(fd, data, length);

		if (n > 0) {
			data += n;
			length -= n;
		} else if (errno != EINTR && errno != EAGAIN) {
			power_off();	/* the host is gone: nobody is left to serve */
		}
	}
}

static void send_frame(uint16_t job, uint8_t kind, const void *data, uint32_t length)
{
	struct header h = { .length = length, .job = job, .kind = kind, .version = VERSION };

	all_of(port, (void *)&h, sizeof(h));
	all_of(port, data, length);
}

static struct job *find(uint16_t id)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].pid && !jobs[i].ended && jobs[i].id == id)
			return &jobs[i];
	return NULL;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void free_when_silent(struct job *j)
{
	if (!j->ended || j->out >= 0 || j->err >= 0)
		return;
	shut(&j->in);
	free(j->queue);
	memset(j, 0, sizeof(*j));
}

/* Forwards what can be read now. Returns 0 when nothing more is there for the moment. */
static int forward(struct job *j, int *fd, enum kind kind)
{
	static char buffer[65536];
	ssize_t n = read(*fd, buffer, sizeof(buffer));

	if (n > 0) {
		if (!j->ended)
			send_frame(j->id, kind, buffer, n);
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (j->in == *fd)
		j->in = -1;
	shut(fd);	/* end of file, or EIO: the terminal's last user left */
	return 0;
}

static void feed(struct job *j)
{
	while (j->in >= 0 && j->queued) {
		ssize_t n = write(j->in, j->queue, j->queued);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			j->queued = 0;	/* the program closed its input */
			break;
		}
		j->queued -= n;
		memmove(j->queue, j->queue + n, j->queued);
	}
	if (j->in >= 0 && j->in_ends) {
		if (j->in == j->out)
			all_of(j->in, "\4", 1);
		else
			shut(&j->in);
		j->in_ends = 0;
	}
}

static void refuse(uint16_t id, const char *what)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

	send_frame(id, FAILED, text, n);
}

static void become(char *directory, char **environment, char **arguments)
{
	sigset_t none;
	char text[256];

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(directory)) {
		dprintf(2, "node: %s: %s\n", directory, strerror(errno));
		_exit(126);
	}
	execvpe(arguments[0], arguments, environment);
	snprintf(text, sizeof(text), "node: %s: %s\n", arguments[0], strerror(errno));
	all_of(2, text, strlen(text));
	_exit(errno == ENOENT ? 127 : 126);
}

static pid_t fork_with_pipes(struct job *j)
{
	int in[2], out[2], err[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		return 0;
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	j->in = in[1];
	j->out = out[0];
	j->err = err[0];
	fcntl(j->in, F_SETFL, O_NONBLOCK);
	fcntl(j->out, F_SETFL, O_NONBLOCK);
	fcntl(j->err, F_SETFL, O_NONBLOCK);
	return pid;
}

static pid_t fork_with_terminal(struct job *j, const struct start *s)
{
	struct winsize size = { .ws_row = s->rows, .ws_col = s->columns };
	pid_t pid = forkpty(&j->out, NULL, NULL, &size);

	if (pid > 0) {
		fcntl(j->out, F_SETFL, O_NONBLOCK);
		fcntl(j->out, F_SETFD, FD_CLOEXEC);
		j->in = j->out;
		j->err = -1;
	}
	return pid;
}

static void start_job(uint16_t id, char *payload, uint32_t length)
{
	struct start s;
	char **strings, *p = payload + sizeof(s), *end = payload + length;
	struct job *j = jobs;
	unsigned int count, n = 0;
	pid_t pid;

	errno = EINVAL;
	if (length < sizeof(s) || end[-1])
		return refuse(id, "malformed command");
	memcpy(&s, payload, sizeof(s));
	count = 1u + s.environment + s.arguments;
	strings = calloc(count + 2, sizeof(*strings));
	/* directory, environment, NULL, arguments, NULL */
	for (unsigned int i = 0; i < count && p < end; i++, p += strlen(p) + 1) {
		strings[n++] = p;
		if (i == s.environment)
			n++;
	}
	if (n != count + 1 || !s.arguments) {
		free(strings);
		return refuse(id, "malformed command");
	}
	while (j < jobs + JOBS && j->pid)
		j++;
	errno = EAGAIN;
	if (j == jobs + JOBS) {
		free(strings);
		return refuse(id, "too many jobs at once");
	}
	pid = s.terminal ? fork_with_terminal(j, &s) : fork_with_pipes(j);
	if (!pid)
		become(strings[0], strings + 1, strings + 2 + s.environment);
	free(strings);
	if (pid < 0) {
		memset(j, 0, sizeof(*j));
		return refuse(id, "cannot start a process");
	}
	j->id = id;
	j->pid = pid;
}

static void handle(const struct header *h, char *payload)
{
	struct job *j = find(h->job);

	if (h->kind == RUN)
		return start_job(h->job, payload, h->length);
	if (h->kind == POWEROFF)
		power_off();
	if (!j)
		return;		/* it ended while the frame was on its way */
	if (h->kind == STDIN) {
		j->queue = realloc(j->queue, j->queued + h->length);
		memcpy(j->queue + j->queued, payload, h->length);
		j->queued += h->length;
		feed(j);
	} else if (h->kind == STDIN_END) {
		j->in_ends = 1;
		feed(j);
	} else if (h->kind == SIGNAL && h->length == 4) {
		kill(-j->pid, *(int32_t *)payload);
	} else if (h->kind == WINDOW && h->length == 4 && j->out >= 0) {
		struct winsize size = { .ws_row = ((uint16_t *)payload)[0], .ws_col = ((uint16_t *)payload)[1] };

		ioctl(j->out, TIOCSWINSZ, &size);
	}
}

static void from_host(void)
{
	static char payload[LARGEST] __attribute__((aligned(8)));
	static struct header h;
	static size_t have;	/* of header and payload together */
	char *to = have < sizeof(h) ? (char *)&h + have : payload + have - sizeof(h);
	size_t want = have < sizeof(h) ? sizeof(h) - have : h.length - (have - sizeof(h));
	ssize_t n = read(port, to, want);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		power_off();
	have += n;
	if (have == sizeof(h) && h.length > LARGEST)
		power_off();
	if (have < sizeof(h) || have < sizeof(h) + h.length)
		return;
	have = 0;
	handle(&h, payload);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (struct job *j = jobs; j < jobs + JOBS; j++) {
			uint32_t word = status;

			if (j->pid != pid || j->ended)
				continue;
			while (j->out >= 0 && forward(j, &j->out, STDOUT))
				;
			while (j->err >= 0 && forward(j, &j->err, STDERR))
				;
			send_frame(j->id, EXIT, &word, sizeof(word));
			if (once)
				power_off();
			j->ended = 1;
			if (j->in != j->out)
				shut(&j->in);
			free_when_silent(j);
		}
	}
}

static void serve(int children)
{
	struct pollfd set[2 + 3 * JOBS] = { { .fd = port, .events = POLLIN }, { .fd = children, .events = POLLIN } };
	struct signalfd_siginfo info;

	for (int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i];
		int live = j->pid != 0;

		set[2 + 3 * i] = (struct pollfd){ .fd = live && j->queued ? j->in : -1, .events = POLLOUT };
		set[3 + 3 * i] = (struct pollfd){ .fd = live ? j->out : -1, .events = POLLIN };
		set[4 + 3 * i] = (struct pollfd){ .fd = live ? j->err : -1, .events = POLLIN };
	}
	if (poll(set, sizeof(set) / sizeof(*set), -1) < 0)
		return;
	for (int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i];

		if (set[2 + 3 * i].revents)
			feed(j);
		if (set[3 + 3 * i].revents)
			forward(j, &j->out, STDOUT);
		if (set[4 + 3 * i].revents)
			forward(j, &j->err, STDERR);
		if (j->pid)
			free_when_silent(j);
	}
	if (set[1].revents && read(children, &info, sizeof(info)) > 0)
		reap();
	if (set[0].revents)
		from_host();
}

/* Starts the job whose RUN payload is in a file, as number 0, without input. */
static void start_from(const char *path)
{
	static char payload[LARGEST];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, payload, sizeof(payload));

	once = 1;
	start_job(0, payload, n > 0 ? n : 0);
	if (!jobs[0].pid)
		power_off();
	shut(&jobs[0].in);
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	sigset_t child;
	int children;

	port = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (port < 0) {
		printf("node agent: no port: %s\n", strerror(errno));
		power_off();
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	setrlimit(RLIMIT_CORE, &unlimited);
	send_frame(0, READY, NULL, 0);
	if (argc > 2)
		start_from(argv[2]);
	for (;;)
		serve(children);
}
