/* SPDX-License-Identifier: MIT */
/* A server on a socket whose memory runs out, at each allocation in turn, while it serves one
 * client: that client has its answer or is cut off, and others never notice. The linker puts
 * the functions here in front of the C library's; only the server's thread fails. */
#include "face/serve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static __thread bool is_server;
static long left; /* allocations of the server's until one fails; 0: none does */

static bool fails(void)
{
	return is_server && __atomic_load_n(&left, __ATOMIC_SEQ_CST) > 0 &&
	       __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void *json_malloc(size_t size)
{
	return __wrap_malloc(size);
}

static void *run_server(void *arg)
{
	struct hcp_err err = {0};

	is_server = true;
	return serve_run(arg, &err) == 0 ? arg : NULL;
}

static int dial(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* The answer's length with its newline; 0: the other end is gone. */
static size_t ask(int fd, const char *line, char *answer, size_t room)
{
	size_t got = 0;
	ssize_t n;

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		return 0;
	while (got < room - 1 && (got == 0 || answer[got - 1] != '\n')) {
		n = read(fd, answer + got, room - 1 - got);
		if (n <= 0)
			return 0;
		got += (size_t)n;
	}
	answer[got] = '\0';
	return got;
}

#define ASKED "{\"pack_id\":\"none\",\"verb_key\":\"x\",\"id\":7}\n"
#define REFUSED                                                                                \
	"{\"ok\":false,\"pack_id\":\"none\",\"verb_key\":\"x\",\"error\":\"unknown pack "      \
	"none\",\"id\":7}\n"

static void expect_answer(int fd)
{
	char answer[512];

	assert_true(ask(fd, ASKED, answer, sizeof(answer)) > 0);
	assert_string_equal(answer, REFUSED);
}

/* Whatever it is told is whole; what it isn't told for want of memory says so. */
static bool try_starved(int fd, long at)
{
	char answer[512];
	size_t got;

	__atomic_store_n(&left, at, __ATOMIC_SEQ_CST);
	got = ask(fd, ASKED, answer, sizeof(answer));
	if (got > 0 && !strstr(answer, "memory") && !strstr(answer, "invalid"))
		assert_string_equal(answer, REFUSED);
	return __atomic_exchange_n(&left, 0, __ATOMIC_SEQ_CST) > 0;
}

static void others_never_notice(void **state)
{
	struct world w;
	hcp_options *o = hcp_options_new();
	struct serve s = {.in_fd = -1, .out_fd = -1};
	struct hcp_err err = {0};
	char path[100];
	pthread_t thread;
	void *good;
	sigset_t set;
	long at = 1;
	int fd, other;

	(void)state;
	world_begin(&w);
	world_put(&w, "root/hcp.yaml", "hcp: 1\n");
	assert_int_equal(hcp_options_root(o, w.top), HCP_OK);
	assert_int_equal(hcp_options_state(o, w.state), HCP_OK);
	assert_int_equal(hcp_options_face(o, HCP_FACE_SOCKET), HCP_OK);
	assert_int_equal(hcp_open(o, &s.rt, NULL), HCP_OK);
	hcp_options_free(o);
	s.like = hcp_call_new(s.rt);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	s.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	snprintf(path, sizeof(path), "%s/sock", w.dir);
	s.listen_fd = serve_listen(path, &err);
	assert_true(s.listen_fd >= 0);
	assert_int_equal(pthread_create(&thread, NULL, run_server, &s), 0);

	other = dial(path);
	for (bool more = true; more; at++) {
		expect_answer(other);
		fd = dial(path);
		expect_answer(fd);
		more = !try_starved(fd, at);
		close(fd);
	}
	expect_answer(other);
	assert_true(at > 10);
	close(other);
	kill(getpid(), SIGUSR1);
	pthread_join(thread, &good);
	assert_ptr_equal(good, &s);
	serve_unlink(path, s.listen_fd);
	close(s.signal_fd);
	hcp_call_free((hcp_call *)(uintptr_t)s.like);
	hcp_close(s.rt);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(others_never_notice)};

	json_set_alloc_funcs(json_malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
