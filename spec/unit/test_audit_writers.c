/* SPDX-License-Identifier: MIT */
/* Many processes with many threads each append at once, again and again: one chain, no gap, no
 * record of one writer lost or doubled by another's. */
#include "audit/inspect.h"
#include "audit_log.h"

#include <pthread.h>

#ifndef PROCESSES
#define PROCESSES 8
#define THREADS   4
#define EACH      250
#define ROUNDS    10
#endif

static void *append_many(void *audit)
{
	struct hcp_err err = {0};

	for (int i = 0; i < EACH; i++)
		if (log_try(audit, AUDIT_BEGIN, &err) < 0) {
			fprintf(stderr, "append: %s\n", err.text);
			return audit;
		}
	return NULL;
}

static int append_threads(struct log *l)
{
	pthread_t threads[THREADS];
	struct hcp_err err = {0};
	struct audit *a;
	void *failed;
	int rc = 0;

	if (audit_open(&l->root, &l->set, &a, &err) < 0)
		return 2;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, append_many, a) != 0)
			return 3;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		rc |= failed != NULL;
	}
	audit_close(a);
	return rc;
}

static void append_all(struct log *l)
{
	int status, failures = 0;

	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			_exit(append_threads(l));
	while (wait(&status) > 0)
		failures += status != 0;
	assert_int_equal(failures, 0);
}

static void one_chain(struct log *l, uint64_t records)
{
	struct audit *a = log_open(l);
	struct audit_verdict v;
	struct hcp_err err = {0};

	assert_int_equal(audit_verify(a, NULL, NULL, NULL, &v, &err), 0);
	assert_true(v.intact);
	assert_int_equal(v.records, records);
	assert_int_equal(v.first_seq, 1);
	assert_int_equal(v.last_seq, records);
	/* the writers' begins, each with a run id of its own */
	assert_int_equal(v.orphans, records - 1);
	audit_close(a);
}

static void rounds(struct log *l, enum audit_sync sync)
{
	l->set.audit_sync = sync;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		append_all(l);
		one_chain(l, round * PROCESSES * THREADS * EACH + 1);
	}
	log_check_dense(l);
}

static void durable_writers_leave_one_chain(void **state)
{
	rounds(*state, AUDIT_SYNC_ALWAYS);
}

static void fast_writers_leave_one_chain(void **state)
{
	rounds(*state, AUDIT_SYNC_OS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    LOG_TEST(durable_writers_leave_one_chain),
	    LOG_TEST(fast_writers_leave_one_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
