/* SPDX-License-Identifier: MIT */
/* Where `hcp serve --http` listens, and the module that speaks HTTP: it is loaded from the
 * program's own place and nowhere else, when it is asked for and never before. */
#include "face/http.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static int wrong(const char *where, struct hcp_err *err)
{
	return hcp_fail(err, HCP_E_CONFIG,
			"%s: it is ADDR:PORT, [ADDR]:PORT or PORT, with an address in digits",
			where);
}

static int read_port(const char *text, in_port_t *out)
{
	unsigned long port = 0;

	if (!*text || strlen(text) > 5 || text[strspn(text, "0123456789")])
		return -1;
	for (; *text; text++)
		port = port * 10 + (unsigned long)(*text - '0');
	*out = htons((in_port_t)port);
	return port > 65535 ? -1 : 0;
}

/* Splits at the last ":"; an address of its own colons stands in brackets. */
static int read_place(const char *where, char name[HTTP_NAME], union address *at)
{
	const char *colon = strrchr(where, ':');
	size_t len = colon ? (size_t)(colon - where) : 0;
	in_port_t port;

	if (len >= HTTP_NAME || read_port(colon ? colon + 1 : where, &port) < 0)
		return -1;
	memcpy(name, where, len);
	name[len] = '\0';
	if (len == 0 || strcmp(name, "localhost") == 0)
		strcpy(name, "127.0.0.1");
	memset(at, 0, sizeof(*at));
	if (name[0] != '[') {
		at->in.sin_family = AF_INET;
		at->in.sin_port = port;
		return inet_pton(AF_INET, name, &at->in.sin_addr) == 1 ? 0 : -1;
	}
	if (name[len - 1] != ']')
		return -1;
	at->in6.sin6_family = AF_INET6;
	at->in6.sin6_port = port;
	name[len - 1] = '\0';
	if (inet_pton(AF_INET6, name + 1, &at->in6.sin6_addr) != 1)
		return -1;
	name[len - 1] = ']';
	return 0;
}

static bool is_loopback(const union address *at)
{
	if (at->any.sa_family == AF_INET)
		return ntohl(at->in.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&at->in6.sin6_addr);
}

static int make(const char *where, union address *at, unsigned *port, struct hcp_err *err)
{
	AUTO_FD fd = fd_above_stdio(
	    socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	bool v4 = at->any.sa_family == AF_INET;
	socklen_t len = v4 ? sizeof(at->in) : sizeof(at->in6);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (!v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(fd, &at->any, len) < 0 || listen(fd, HTTP_CLIENTS) < 0 ||
	    getsockname(fd, &at->any, &len) < 0)
		return hcp_fail_errno(err, "%s", where);
	*port = ntohs(v4 ? at->in.sin_port : at->in6.sin6_port);
	return fd_steal(&fd);
}

int http_listen(const char *where, struct http *http, char space[HTTP_NAME], unsigned *port,
		struct hcp_err *err)
{
	union address at;

	if (read_place(where, space, &at) < 0)
		return wrong(where, err);
	http->listen_fd = make(where, &at, port, err);
	http->loopback = is_loopback(&at);
	http->name = space;
	return http->listen_fd < 0 ? -1 : 0;
}

/* Beside the program in a build tree, at the installed distance otherwise. */
static void *load(struct hcp_err *err)
{
	static const char *const names[] = {"hcp-http.so", HCP_HTTP_FROM_BIN};
	char own[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	void *handle;

	if (n <= 0) {
		hcp_fail_errno(err, "/proc/self/exe");
		return NULL;
	}
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", own, names[i]);
		if (access(path, F_OK) < 0)
			continue;
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			hcp_fail(err, HCP_E_CONFIG, "hcp-http.so: %s", dlerror());
		return handle;
	}
	hcp_fail(err, HCP_E_CONFIG, "hcp-http.so is not installed: it is needed for --http");
	return NULL;
}

int http_serve(const struct http *http, struct hcp_err *err)
{
	const struct http_module *m;
	void *handle = load(err);
	char version[24];

	if (!handle)
		return -1;
	snprintf(version, sizeof(version), "%d.%d.%d", HCP_VERSION_MAJOR, HCP_VERSION_MINOR,
		 HCP_VERSION_PATCH);
	m = dlsym(handle, HTTP_MODULE_SYMBOL);
	if (!m || strcmp(m->version, version) != 0)
		return hcp_fail(err, HCP_E_CONFIG, "hcp-http.so is of another release");
	return m->serve(http, err);
}
