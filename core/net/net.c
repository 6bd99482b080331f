/* SPDX-License-Identifier: MIT */
/* Loads the module, once, when it is first needed, from beside the library and from nowhere
 * else; and keeps key sets between calls. It stays loaded for the life of the process: libcurl
 * and OpenSSL can't be unloaded safely. */
#include "net/net.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CACHE_SIZE 16

struct entry {
	char *url;
	unsigned char trust[32]; /* digest of the authorities that vouched for the server */
	json_t *keys;
	int64_t since_s;
};
struct net {
	pthread_mutex_t lock;
	char *path;
	const struct net_module *module;
	struct entry cache[CACHE_SIZE];
};

struct net *net_new(const char *module_path)
{
	struct net *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->path = module_path ? strdup(module_path) : NULL;
	if (module_path && !n->path) {
		free(n);
		return NULL;
	}
	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void net_free(struct net *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < CACHE_SIZE; i++) {
		free(n->cache[i].url);
		json_decref(n->cache[i].keys);
	}
	pthread_mutex_destroy(&n->lock);
	free(n->path);
	free(n);
}

static int load(struct net *n, struct hcp_err *err)
{
	const struct net_module *m;
	void *handle;

	if (!n->path)
		return hcp_fail(err, HCP_E_CONFIG,
				"hcp-net.so is not installed beside the library");
	handle = dlopen(n->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		return hcp_fail(err, HCP_E_CONFIG, "hcp-net.so: %s", dlerror());
	m = dlsym(handle, NET_MODULE_SYMBOL);
	if (!m || m->version != NET_MODULE_VERSION)
		return hcp_fail(err, HCP_E_CONFIG, "hcp-net.so is of another release");
	n->module = m;
	return 0;
}

const struct net_module *net_module(struct net *n, struct hcp_err *err)
{
	const struct net_module *m;

	if (!n) {
		hcp_fail(err, HCP_E_CONFIG, "there is no network here");
		return NULL;
	}
	pthread_mutex_lock(&n->lock);
	m = n->module || load(n, err) == 0 ? n->module : NULL;
	pthread_mutex_unlock(&n->lock);
	return m;
}

static int64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void digest_of(struct net_bytes ca, unsigned char out[32])
{
	crypto_generichash(out, 32, ca.data, ca.len, NULL, 0);
}

static bool is_of(const struct entry *e, const char *url, const unsigned char trust[32])
{
	return e->url && strcmp(e->url, url) == 0 && memcmp(e->trust, trust, 32) == 0;
}

/* A copy: values of jansson aren't to be shared between threads. */
json_t *net_cache_get(struct net *n, const char *url, struct net_bytes ca, int64_t max_age_s)
{
	unsigned char trust[32];
	json_t *found = NULL;

	digest_of(ca, trust);
	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < CACHE_SIZE; i++)
		if (is_of(&n->cache[i], url, trust) &&
		    now_s() - n->cache[i].since_s < max_age_s)
			found = json_deep_copy(n->cache[i].keys);
	pthread_mutex_unlock(&n->lock);
	return found;
}

/* Its own place, a free one, or the oldest's. */
static struct entry *place_for(struct net *n, const char *url, const unsigned char trust[32])
{
	struct entry *oldest = &n->cache[0];

	for (size_t i = 0; i < CACHE_SIZE; i++) {
		if (is_of(&n->cache[i], url, trust))
			return &n->cache[i];
		if (oldest->url && (!n->cache[i].url || n->cache[i].since_s < oldest->since_s))
			oldest = &n->cache[i];
	}
	return oldest;
}

void net_cache_put(struct net *n, const char *url, struct net_bytes ca, const json_t *keys)
{
	struct entry *e, fresh = {strdup(url), {0}, json_deep_copy(keys), now_s()};

	if (!fresh.url || !fresh.keys) {
		free(fresh.url);
		json_decref(fresh.keys);
		return; /* it is fetched again */
	}
	digest_of(ca, fresh.trust);
	pthread_mutex_lock(&n->lock);
	e = place_for(n, url, fresh.trust);
	free(e->url);
	json_decref(e->keys);
	*e = fresh;
	pthread_mutex_unlock(&n->lock);
}
