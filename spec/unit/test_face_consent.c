/* SPDX-License-Identifier: MIT */
/* What a client carries between a question and its answer: it holds once, for a time, for this
 * process, unchanged; and nothing else does. The linker puts the clock here. */
#include "face/mcp_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER  "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static int64_t now_ms = 1000;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){now_ms / 1000, now_ms % 1000 * 1000000};
	return 0;
}

static struct mcp *server(void)
{
	struct mcp *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	assert_true(sodium_init() >= 0);
	pthread_mutex_init(&m->lock, NULL);
	crypto_auth_keygen(m->key);
	return m;
}

static char *seal(struct mcp *m, const char *digest)
{
	struct buf out = {0};

	mcp_seal(m, digest, &out);
	assert_false(out.failed);
	return out.data;
}

static void expect(struct mcp *m, const char *state, const char *digest)
{
	char got[65] = "";

	assert_int_equal(mcp_unseal(m, state, got), digest[0] != '\0');
	assert_string_equal(got, digest);
}

static void it_holds_once(void **state)
{
	struct mcp *m = server();
	char *one = seal(m, DIGEST), *other = seal(m, OTHER), *again = seal(m, DIGEST);

	(void)state;
	assert_string_not_equal(one, again);
	expect(m, one, DIGEST);
	expect(m, one, "");
	expect(m, other, OTHER);
	expect(m, again, DIGEST);
	expect(m, again, "");
	free(one);
	free(other);
	free(again);
	free(m);
}

static void it_expires(void **state)
{
	struct mcp *m = server();
	char *early = seal(m, DIGEST), *late = seal(m, OTHER);

	(void)state;
	now_ms += MCP_CONSENT_MS - 1;
	expect(m, early, DIGEST);
	now_ms += 1;
	expect(m, late, "");
	/* what was used is forgotten by now, and of no use any more */
	expect(m, early, "");
	free(early);
	free(late);
	free(m);
}

static void it_holds_here_and_unchanged(void **state)
{
	struct mcp *m = server(), *elsewhere = server();
	char *s = seal(m, DIGEST);

	(void)state;
	expect(elsewhere, s, "");
	for (size_t i = 0; i < strlen(s); i++) {
		char was = s[i];

		s[i] = was == 'A' ? 'B' : 'A';
		expect(m, s, "");
		s[i] = was;
	}
	for (size_t i = strlen(s); i-- > 0;) {
		char was = s[i];

		s[i] = '\0';
		expect(m, s, "");
		s[i] = was;
	}
	expect(m, s, DIGEST);
	free(s);
	free(m);
	free(elsewhere);
}

/* Where it can't be known whether one was used before, it wasn't given. */
static void a_full_table_refuses(void **state)
{
	struct mcp *m = server();
	char *first = seal(m, DIGEST), *s;

	(void)state;
	expect(m, first, DIGEST);
	for (int i = 1; i < MCP_USED; i++) {
		s = seal(m, OTHER);
		expect(m, s, OTHER);
		free(s);
	}
	s = seal(m, DIGEST);
	expect(m, s, "");
	expect(m, first, "");
	now_ms += MCP_CONSENT_MS;
	free(s);
	s = seal(m, DIGEST);
	expect(m, s, DIGEST);
	free(s);
	free(first);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_holds_once),
	    cmocka_unit_test(it_expires),
	    cmocka_unit_test(it_holds_here_and_unchanged),
	    cmocka_unit_test(a_full_table_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
