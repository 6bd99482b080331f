/* SPDX-License-Identifier: MIT */
/* One HTTPS request on libcurl. It goes to the address that was allowed and nowhere else: no
 * redirect is followed, no proxy, .netrc, cookie or variable of the environment is asked. It
 * ends with the deadline, when the run is cancelled, or when the answer outgrows its memory. */
#include "net/module/module.h"

#include <curl/curl.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 50 /* between two looks at the deadline and for a cancel */

/* ---- libcurl's memory: requests hold secrets, so what it gives back is wiped ---- */

static void wipe_free(void *p)
{
	if (!p)
		return;
	OPENSSL_cleanse(p, malloc_usable_size(p));
	free(p);
}

static void *wipe_realloc(void *p, size_t size)
{
	size_t old = p ? malloc_usable_size(p) : 0;
	void *q = malloc(size ? size : 1);

	if (!q)
		return NULL;
	if (p)
		memcpy(q, p, old < size ? old : size);
	wipe_free(p);
	return q;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

/* A process that uses libcurl itself keeps its own memory functions. */
static void start(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	ready = curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_free, wipe_realloc,
				     strdup, calloc) == CURLE_OK;
}

/* ---- what libcurl asks of us ---- */

struct exchange {
	const struct net_request *q;
	struct net_response *out;
	CURL *curl;
	CURLM *multi;
	struct curl_slist *lines;
	bool refused, large;
	char why[CURL_ERROR_SIZE];
};

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct exchange *x = user;

	if (purpose != CURLSOCKTYPE_IPCXN || !x->q->allow(x->q->user, &addr->addr)) {
		x->refused = true;
		return CURL_SOCKET_BAD;
	}
	x->refused = false;
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static size_t take(unsigned char *to, size_t *len, size_t cap, const char *data, size_t size,
		   bool *large)
{
	if (size > cap - *len) {
		*large = true;
		return 0;
	}
	memcpy(to + *len, data, size);
	*len += size;
	return size;
}

static size_t take_body(char *data, size_t size, size_t count, void *user)
{
	struct exchange *x = user;

	return take(x->out->body, &x->out->body_len, x->out->body_cap, data, size * count,
		    &x->large);
}

/* A status line begins a new answer: what stood before was an interim one. */
static size_t take_head(char *data, size_t size, size_t count, void *user)
{
	struct exchange *x = user;
	size_t len = size * count;

	if (len >= 5 && memcmp(data, "HTTP/", 5) == 0) {
		x->out->head_len = 0;
		return len;
	}
	return take(x->out->head, &x->out->head_len, x->out->head_cap, data, len, &x->large);
}

/* libcurl would write session keys where $SSLKEYLOGFILE says. */
static CURLcode set_context(CURL *curl, void *ctx, void *user)
{
	(void)curl;
	(void)user;
	SSL_CTX_set_keylog_callback(ctx, NULL);
	SSL_CTX_set_options(ctx, SSL_OP_CLEANSE_PLAINTEXT);
	return CURLE_OK;
}

/* ---- the request ---- */

/* Rounded up: where none is left, the deadline has passed for everybody. */
static int64_t left_ms(const struct net_request *q)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (q->deadline_ns - (t.tv_sec * 1000000000LL + t.tv_nsec) + 999999) / 1000000;
}

static int add_line(struct exchange *x, const char *line)
{
	struct curl_slist *more = curl_slist_append(x->lines, line);

	if (!more)
		return -1;
	x->lines = more;
	return 0;
}

#define SET(option, value)                                                                     \
	do {                                                                                   \
		if (curl_easy_setopt(x->curl, option, value) != CURLE_OK)                      \
			return -1;                                                             \
	} while (0)

static int set_trust(struct exchange *x)
{
	const struct net_request *q = x->q;
	struct curl_blob ca = {.len = q->ca.len, .flags = CURL_BLOB_COPY};

	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_CTX_FUNCTION, set_context);
	SET(CURLOPT_PROTOCOLS_STR, q->plain ? "http" : "https");
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, x);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_UNIX_SOCKET_PATH, NULL);
	if (!q->ca.data)
		return 0;
	memcpy(&ca.data, &q->ca.data, sizeof(ca.data)); /* it is copied, not written to */
	SET(CURLOPT_CAINFO_BLOB, &ca);
	SET(CURLOPT_CAINFO, NULL);
	SET(CURLOPT_CAPATH, NULL);
	return 0;
}

static int set_answer(struct exchange *x)
{
	SET(CURLOPT_ERRORBUFFER, x->why);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_NOPROGRESS, 1L);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, x);
	SET(CURLOPT_HEADERFUNCTION, take_head);
	SET(CURLOPT_HEADERDATA, x);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
#if LIBCURL_VERSION_NUM >= 0x075700
	SET(CURLOPT_QUICK_EXIT, 1L); /* a name that isn't resolved holds nobody up */
#endif
	return 0;
}

static int set_question(struct exchange *x)
{
	const struct net_request *q = x->q;

	for (size_t i = 0; i < q->line_count; i++)
		if (add_line(x, q->lines[i]) < 0)
			return -1;
	if (add_line(x, "Expect:") < 0)
		return -1;
	SET(CURLOPT_URL, q->url);
	SET(CURLOPT_PATH_AS_IS, 1L);
	if (q->body.data) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
		SET(CURLOPT_POSTFIELDS, q->body.data);
	} else if (strcmp(q->method, "HEAD") == 0) {
		SET(CURLOPT_NOBODY, 1L);
	}
	SET(CURLOPT_CUSTOMREQUEST, q->method);
	SET(CURLOPT_HTTPHEADER, x->lines);
	return 0;
}

static int describe(const struct exchange *x, CURLcode code, struct hcp_err *err)
{
	if (x->large)
		return hcp_fail(err, HCP_E_LIMIT, "the answer is over %zuK",
				x->out->body_cap / 1024);
	if (x->refused)
		return hcp_fail(err, HCP_E_DENIED,
				"the host's address is of a private network and the policy "
				"doesn't list it");
	return hcp_fail(err, HCP_E_SYS, "%s", x->why[0] ? x->why : curl_easy_strerror(code));
}

static int finish(struct exchange *x, struct hcp_err *err)
{
	CURLMsg *m;
	int more;

	while ((m = curl_multi_info_read(x->multi, &more)))
		if (m->msg == CURLMSG_DONE) {
			if (m->data.result != CURLE_OK)
				return describe(x, m->data.result, err);
			curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &x->out->status);
			return 0;
		}
	return hcp_fail(err, HCP_E_SYS, "the request came to nothing");
}

static int perform(struct exchange *x, struct hcp_err *err)
{
	int64_t left;
	int running = 1;

	for (;;) {
		if (curl_multi_perform(x->multi, &running) != CURLM_OK)
			return hcp_fail(err, HCP_E_SYS, "the request failed");
		if (!running)
			return finish(x, err);
		if (x->q->cancelled && __atomic_load_n(x->q->cancelled, __ATOMIC_RELAXED))
			return hcp_fail(err, HCP_E_CANCELLED, "cancelled");
		left = left_ms(x->q);
		if (left <= 0)
			return hcp_fail(err, HCP_E_TIMEOUT, "no answer in time");
		curl_multi_poll(x->multi, NULL, 0, left < LOOK_MS ? (int)left : LOOK_MS, NULL);
	}
}

static int run(struct exchange *x, struct hcp_err *err)
{
	if (set_trust(x) < 0 || set_answer(x) < 0 || set_question(x) < 0 ||
	    curl_multi_add_handle(x->multi, x->curl) != CURLM_OK)
		return hcp_fail(err, HCP_E_SYS, "libcurl refuses the request");
	return perform(x, err);
}

/* A peer that is gone must not end the process, and its signals are its own. */
static int run_quietly(struct exchange *x, struct hcp_err *err)
{
	sigset_t pipe, before, waiting;
	struct timespec now = {0};
	bool was;
	int rc;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&waiting);
	was = sigismember(&waiting, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	rc = run(x, err);
	while (!was && sigtimedwait(&pipe, NULL, &now) > 0)
		continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int net_http(const struct net_request *q, struct net_response *out, struct hcp_err *err)
{
	struct exchange x = {.q = q, .out = out};
	int rc;

	pthread_once(&once, start);
	x.curl = ready ? curl_easy_init() : NULL;
	x.multi = x.curl ? curl_multi_init() : NULL;
	if (x.multi)
		rc = run_quietly(&x, err);
	else
		rc = hcp_fail(err, HCP_E_SYS, "libcurl can't be started");
	if (x.multi)
		curl_multi_remove_handle(x.multi, x.curl);
	curl_easy_cleanup(x.curl);
	curl_multi_cleanup(x.multi);
	curl_slist_free_all(x.lines);
	return rc;
}
