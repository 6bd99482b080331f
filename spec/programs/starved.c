/* SPDX-License-Identifier: MIT */
/* A host whose memory runs out: `starved ROOT STATE MARK ENVELOPE STEP` runs the envelope again
 * and again, and each time another allocation of the run's thread fails, from the first to the
 * last, once alone and once with all that follow. The allocator in front of the C library's
 * counts what is held. Says how many runs there were, or what went wrong. */
#include "hcp.h"

#include <errno.h>
#include <malloc.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static __thread bool armed, for_good;
static __thread long seen, fails_at;
static atomic_long held;

static bool fails(void)
{
	if (!armed)
		return false;
	seen++;
	if (seen != fails_at && !(for_good && seen > fails_at))
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	held += p != NULL;
	return p;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *moved;

	if (fails())
		return NULL;
	moved = __libc_realloc(p, size);
	if (!p)
		return counted(moved);
	held -= size == 0 && !moved;
	return moved;
}

void *memalign(size_t alignment, size_t size)
{
	return fails() ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	*out = memalign(alignment, size);
	return *out ? 0 : ENOMEM;
}

void free(void *p)
{
	held -= p != NULL;
	__libc_free(p);
}

static hcp_runtime *rt;
static const char *mark;
static hcp_str envelope;
static long stride;

static long marks(void)
{
	struct stat st;

	return stat(mark, &st) == 0 ? (long)st.st_size : 0;
}

/* One run whose nth allocation fails; whether there was one. *why where it ended wrongly. */
static bool starve(long nth, bool all, const char **why)
{
	static char text[1024];
	long before = marks(), ran;
	hcp_result *res = NULL;
	hcp_status status;

	seen = 0;
	fails_at = nth;
	for_good = all;
	armed = true;
	status = hcp_exec(rt, NULL, envelope, &res);
	armed = false;
	ran = marks() - before;
	*why = NULL;
	if (status == HCP_ENOMEM ? res != NULL : status != HCP_OK || res == NULL)
		*why = "neither an envelope nor HCP_ENOMEM";
	else if (res && hcp_result_ok(res) && ran != 1)
		*why = "ok, and the program didn't run once";
	else if (res && !hcp_result_ok(res) && hcp_result_step(res) < 8 && ran != 0)
		*why = "refused, and the program ran";
	else if (res && !hcp_result_ok(res) && !hcp_result_error(res).len)
		*why = "refused without a reason";
	if (*why) {
		snprintf(text, sizeof(text), "allocation %ld: %s: %s", nth, *why,
			 res ? hcp_result_json(res).data : hcp_status_text(status));
		*why = text;
	}
	hcp_result_free(res);
	return seen >= nth;
}

/* `fresh`: what a runtime has kept of earlier runs is dropped before each. */
static long starve_all(bool all, bool fresh, const char **why)
{
	long nth = 1;

	do {
		if (fresh)
			hcp_reload(rt, NULL);
	} while (starve(nth, all, why) && !*why && (nth += stride));
	return nth / stride;
}

static bool intact(void)
{
	hcp_result *res = NULL;
	hcp_error err = {.size = sizeof(err)};
	bool yes = hcp_audit_verify(rt, hcp_str_from(NULL), NULL, &res, &err) == HCP_OK &&
		   strstr(hcp_result_json(res).data, "\"intact\":true");

	hcp_result_free(res);
	return yes;
}

/* What libc sets up for lookups of users once one has failed, it keeps for good: not ours. */
static void lose_lookups(void)
{
	struct passwd room, *found;
	char text[4096];

	for (int all = 0; all < 2; all++)
		for (long nth = 1; nth < 9; nth++) {
			seen = 0;
			fails_at = nth;
			for_good = all;
			armed = true;
			getpwuid_r(getuid(), &room, text, sizeof(text), &found);
			armed = false;
		}
}

/* Without what a runtime keeps for the runs to come. */
static long held_for_good(void)
{
	hcp_reload(rt, NULL);
	return held;
}

int main(int argc, char **argv)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	const char *why = NULL;
	long before, runs;

	if (argc != 6 || (stride = atol(argv[5])) < 1 || hcp_options_root(o, argv[1]) ||
	    hcp_options_state(o, argv[2]) || hcp_open(o, &rt, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	hcp_options_free(o);
	mark = argv[3];
	envelope = hcp_str_from(argv[4]);
	/* What the C library sets up for its first lookup of a user it doesn't survive without
	 * memory, and what it keeps of one that failed it keeps for good: not ours. */
	starve(-1, false, &why);
	runs = why ? 0 : starve_all(false, true, &why);
	runs += why ? 0 : starve_all(true, true, &why);
	lose_lookups();
	before = held_for_good();
	runs += why ? 0 : starve_all(false, false, &why);
	runs += why ? 0 : starve_all(true, false, &why);
	if (!why && held_for_good() > before)
		why = "memory is left";
	if (!why && !intact())
		why = "the audit log is damaged";
	starve(-1, false, why ? &(const char *){NULL} : &why);
	printf("%s\n", why ? why : "ok");
	fprintf(stderr, "%ld runs\n", runs);
	hcp_close(rt);
	return 0;
}
