/* SPDX-License-Identifier: MIT */
/* What programs do all day: each kind once, in the working directory, a line of output for each
 * that worked. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static void need(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	need(poll(&p, 1, -1) == 1, "poll");
}

static void block(int sig, sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, sig);
	need(sigprocmask(SIG_BLOCK, set, NULL) == 0, "sigprocmask");
}

static void timers(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 1000}};
	struct itimerspec in = {.it_value = {.tv_nsec = 1000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	timer_t timer;
	sigset_t set;
	int sig;

	block(SIGALRM, &set);
	need(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer");
	need(sigwait(&set, &sig) == 0 && sig == SIGALRM, "sigwait");
	need(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
	need(timer_settime(timer, 0, &in, NULL) == 0, "timer_settime");
	need(sigwait(&set, &sig) == 0 && sig == SIGALRM, "sigwait");
}

static void timer_fd(void)
{
	struct itimerspec in = {.it_value = {.tv_nsec = 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t times = 0;

	need(fd >= 0 && timerfd_settime(fd, 0, &in, NULL) == 0, "timerfd");
	need(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1, "timerfd");
}

static void file_map(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at, byte = 0;

	need(fd >= 0 && fallocate(fd, 0, 0, PAGE) == 0, "fallocate");
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(at != MAP_FAILED, "mmap");
	at[PAGE - 1] = 'x';
	need(msync(at, PAGE, MS_SYNC) == 0 && pread(fd, &byte, 1, PAGE - 1) == 1 && byte == 'x',
	     "mmap");
	need(mprotect(at, PAGE, PROT_READ) == 0 && munmap(at, PAGE) == 0, "mprotect");
}

static void in_child(void (*f)(void *), void *data)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		f(data);
		_exit(0);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "fork");
}

static void put_byte(void *at)
{
	*(char *)at = 'y';
}

static void posix_shm(void)
{
	int fd = shm_open("/spec", O_RDWR | O_CREAT | O_EXCL, 0600);
	char *at;

	need(fd >= 0 && ftruncate(fd, PAGE) == 0, "shm_open");
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(at != MAP_FAILED, "shm mmap");
	in_child(put_byte, at);
	need(*at == 'y' && shm_unlink("/spec") == 0, "shm");
}

static void sysv_shm(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	char *at = id < 0 ? NULL : shmat(id, NULL, 0);

	need(id >= 0 && at, "shmget");
	in_child(put_byte, at);
	need(*at == 'y' && shmctl(id, IPC_RMID, NULL) == 0, "shmctl");
}

static void post(void *semaphore)
{
	need(sem_post(semaphore) == 0, "sem_post");
}

static void semaphores(void)
{
	sem_t *s = sem_open("/spec", O_CREAT | O_EXCL, 0600, 0);

	need(s != SEM_FAILED, "sem_open");
	in_child(post, s);
	need(sem_wait(s) == 0 && sem_unlink("/spec") == 0, "sem_wait");
}

static void event_fd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC), e = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN};
	uint64_t n = 3;

	need(fd >= 0 && e >= 0 && epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
	need(write(fd, &n, sizeof(n)) == sizeof(n) && epoll_wait(e, &ev, 1, -1) == 1,
	     "epoll_wait");
	n = 0;
	need(read(fd, &n, sizeof(n)) == sizeof(n) && n == 3, "eventfd");
}

static void inotify(void)
{
	int fd = inotify_init1(IN_CLOEXEC), file;
	char room[1024] __attribute__((aligned(8)));
	const struct inotify_event *e = (const void *)room;

	need(fd >= 0 && inotify_add_watch(fd, ".", IN_CREATE) >= 0, "inotify");
	file = open("noticed", O_CREAT | O_EXCL | O_WRONLY, 0600);
	need(file >= 0, "noticed");
	wait_for(fd);
	need(read(fd, room, sizeof(room)) > 0 && strcmp(e->name, "noticed") == 0, "inotify");
	unlink("noticed");
}

static void signal_fd(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd;

	block(SIGUSR1, &set);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	need(fd >= 0 && kill(getpid(), SIGUSR1) == 0, "kill");
	need(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR1,
	     "signalfd");
}

static void spawns(void)
{
	char arg[] = "exit 7", sh[] = "sh", c[] = "-c", *argv[] = {sh, c, arg, NULL},
	     *envp[] = {NULL};
	int status = -1;
	pid_t pid;

	errno = posix_spawnp(&pid, "sh", NULL, NULL, argv, envp);
	need(errno == 0 && waitpid(pid, &status, 0) == pid, "posix_spawn");
	need(WIFEXITED(status) && WEXITSTATUS(status) == 7, "posix_spawn");
	need(WEXITSTATUS(system("exit 3")) == 3, "system");
}

static void pipes(void)
{
	FILE *f = popen("echo one | tr a-z A-Z", "r");
	char line[16] = "";

	need(f && fgets(line, sizeof(line), f) && strcmp(line, "ONE\n") == 0 && pclose(f) == 0,
	     "popen");
}

static void *count(void *n)
{
	__atomic_add_fetch((int *)n, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void threads(void)
{
	pthread_t t[32];
	int n = 0;

	for (int i = 0; i < 32; i++)
		need((errno = pthread_create(&t[i], NULL, count, &n)) == 0, "pthread_create");
	for (int i = 0; i < 32; i++)
		need((errno = pthread_join(t[i], NULL)) == 0, "pthread_join");
	need(n == 32, "threads");
}

static void locks(void)
{
	struct flock part = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = open("locked", O_RDWR | O_CREAT, 0600);

	need(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0, "flock");
	need(fcntl(fd, F_SETLK, &part) == 0, "F_SETLK");
	part.l_start = 1;
	need(fcntl(fd, F_OFD_SETLK, &part) == 0, "F_OFD_SETLK");
}

static void copies(void)
{
	int from = open("from", O_RDWR | O_CREAT | O_TRUNC, 0600),
	    to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0600);
	off_t at = 0;

	need(from >= 0 && to >= 0 && write(from, "abc", 3) == 3, "write");
	need(sendfile(to, from, &at, 3) == 3, "sendfile");
	at = 0;
	need(copy_file_range(from, &at, to, NULL, 3, 0) == 3, "copy_file_range");
	need(lseek(to, 0, SEEK_END) == 6 && fsync(to) == 0 && rename("to", "moved") == 0,
	     "rename");
}

/* A descriptor goes through a socket pair. */
static void passing(void)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2], fd = open("from", O_RDONLY), got = -1;

	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && fd >= 0,
	     "socketpair");
	if (!c)
		exit(1);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	need(sendmsg(pair[0], &m, 0) == 1 && recvmsg(pair[1], &m, MSG_CMSG_CLOEXEC) == 1,
	     "sendmsg");
	memcpy(&got, CMSG_DATA(c), sizeof(got)); /* the answer takes the same room */
	need(read(got, &byte, 1) == 1 && byte == 'a', "recvmsg");
}

static void memory(void)
{
	size_t size = 64u << 20;
	char *big = malloc(size);
	int fd = memfd_create("spec", MFD_CLOEXEC);

	need(big != NULL, "malloc");
	memset(big, 1, size);
	need(mmap(NULL, (size_t)8 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0) != MAP_FAILED,
	     "reserve 8 GiB");
	need(fd >= 0 && ftruncate(fd, PAGE) == 0, "memfd");
	free(big);
}

static void clocks(void)
{
	struct timespec t = {.tv_nsec = 1000000};
	struct tm parts;

	need(clock_gettime(CLOCK_REALTIME, &t) == 0 &&
		 clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0,
	     "clock");
	t = (struct timespec){.tv_nsec = 1000000};
	need(nanosleep(&t, NULL) == 0 && localtime_r(&t.tv_sec, &parts), "nanosleep");
}

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {{"timers", timers},
	   {"timerfd", timer_fd},
	   {"a mapped file", file_map},
	   {"POSIX shared memory", posix_shm},
	   {"SysV shared memory", sysv_shm},
	   {"semaphores", semaphores},
	   {"eventfd and epoll", event_fd},
	   {"inotify", inotify},
	   {"signalfd", signal_fd},
	   {"posix_spawn", spawns},
	   {"popen", pipes},
	   {"threads", threads},
	   {"locks", locks},
	   {"copies", copies},
	   {"passing a descriptor", passing},
	   {"memory", memory},
	   {"clocks", clocks}};

int main(void)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i].run();
		puts(all[i].name);
		fflush(stdout);
	}
	return 0;
}
