/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* System V and POSIX message queues, semaphores, shared memory between processes. */
#include "check.h"

#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

struct message { long type; char text[16]; };

static int id;
static char *segment;

static void change_segment(void)
{
	CHECK(segment[0] == 'p');
	segment[1] = 'c';
	CHECK(shmdt(segment) == 0);
	segment = shmat(id, NULL, SHM_RDONLY);
	CHECK(segment != (void *)-1 && segment[1] == 'c');
	segment[1] = 'x';	/* SIGSEGV */
}

static void segments(void)
{
	struct shmid_ds info;

	id = shmget(IPC_PRIVATE, 10000, IPC_CREAT | 0600);
	CHECK(id >= 0 && (segment = shmat(id, NULL, 0)) != (void *)-1);
	segment[0] = 'p';
	CHECK(killed_by(child_status(change_segment), SIGSEGV) && segment[1] == 'c');
	CHECK(shmctl(id, IPC_STAT, &info) == 0 && info.shm_nattch == 1 && info.shm_segsz == 10000);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0 && segment[0] == 'p' && shmdt(segment) == 0);
	CHECK_ERRNO(shmctl(id, IPC_STAT, &info), EINVAL);
	say("segments\n");
}

static void take_and_die(void)
{
	struct sembuf take = { 0, -1, SEM_UNDO };

	CHECK(semop(id, &take, 1) == 0);
	raise(SIGKILL);
}

static void semaphores(void)
{
	struct sembuf take = { 0, -1, 0 }, give = { 0, 1, 0 }, try = { 0, -1, IPC_NOWAIT };
	pid_t pid;
	int status;

	id = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
	CHECK(id >= 0);
	CHECK_ERRNO(semop(id, &try, 1), EAGAIN);
	pid = fork();
	if (pid == 0) {
		sleep_ms(3);
		CHECK(semop(id, &give, 1) == 0);
		_exit(0);
	}
	CHECK(semop(id, &take, 1) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(semop(id, &give, 1) == 0 && killed_by(child_status(take_and_die), SIGKILL));
	CHECK(semctl(id, 0, GETVAL) == 1 && semctl(id, 0, IPC_RMID) == 0);
	say("semaphores\n");
}

static void messages(void)
{
	struct message m = { 2, "two" };
	pid_t pid;
	int status;

	id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	CHECK(id >= 0 && msgsnd(id, &m, 16, 0) == 0);
	m = (struct message){ 1, "one" };
	CHECK(msgsnd(id, &m, 16, 0) == 0);
	CHECK(msgrcv(id, &m, 16, 1, 0) == 16 && !strcmp(m.text, "one"));
	CHECK(msgrcv(id, &m, 16, 0, 0) == 16 && m.type == 2);
	CHECK_ERRNO(msgrcv(id, &m, 16, 0, IPC_NOWAIT), ENOMSG);
	pid = fork();
	if (pid == 0) {
		/* EINVAL: too late to wait at all */
		CHECK(msgrcv(id, &m, 16, 0, 0) == -1 && (errno == EIDRM || errno == EINVAL));
		_exit(0);
	}
	sleep_ms(5);
	CHECK(msgctl(id, IPC_RMID, NULL) == 0 && waitpid(pid, &status, 0) == pid && status == 0);
	say("messages\n");
}

static volatile int notified;

static void on_notice(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	notified = info->si_code == SI_MESGQ ? info->si_int : -1;
}

static void with_queue(mqd_t queue, const char *name)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 66 };
	char text[64];
	unsigned priority;

	on_signal(SIGUSR1, on_notice, 0);
	CHECK(mq_notify(queue, &event) == 0);
	CHECK(mq_send(queue, "low", 4, 1) == 0 && mq_send(queue, "high", 5, 9) == 0 && notified == 66);
	CHECK(mq_receive(queue, text, 64, &priority) == 5 && priority == 9 && !strcmp(text, "high"));
	CHECK(mq_receive(queue, text, 64, &priority) == 4 && priority == 1);
	CHECK_ERRNO(mq_receive(queue, text, 64, NULL), EAGAIN);
	CHECK(mq_close(queue) == 0 && mq_unlink(name) == 0);
}

static void posix_queues(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	char name[32];
	mqd_t queue;

	snprintf(name, sizeof(name), "/tacet-test-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr);
	if (queue >= 0)
		with_queue(queue, name);
	else
		CHECK(errno == ENOSYS);
	say("POSIX queues\n");
}

static void between_processes(void)
{
	sem_t *pair = shared_memory(4096);
	long *value = (long *)(pair + 2);
	pid_t pid;
	int status;

	CHECK(sem_init(&pair[0], 1, 0) == 0 && sem_init(&pair[1], 1, 0) == 0);
	pid = fork();
	if (pid == 0) {
		for (long i = 1; i <= 100; i++) {
			CHECK(sem_wait(&pair[0]) == 0 && *value == i);
			*value = -i;
			CHECK(sem_post(&pair[1]) == 0);
		}
		_exit(0);
	}
	for (long i = 1; i <= 100; i++) {
		*value = i;
		CHECK(sem_post(&pair[0]) == 0 && sem_wait(&pair[1]) == 0 && *value == -i);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	say("semaphores between processes\n");
}

int main(void)
{
	PART(segments);
	PART(semaphores);
	PART(messages);
	PART(posix_queues);
	PART(between_processes);
	return 0;
}
