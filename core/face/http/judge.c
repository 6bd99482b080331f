/* SPDX-License-Identifier: MIT */
/* A request's first line and headers, before a byte of its body is taken. A header that could
 * be read in two ways is refused, whoever is right. */
#include "face/http/server.h"

#include <string.h>
#include <strings.h>

struct seen {
	const char *name;
	unsigned count;
};

static enum MHD_Result count_one(void *cls, enum MHD_ValueKind kind, const char *key,
				 const char *value)
{
	(void)kind;
	(void)value;
	for (struct seen *s = cls; s->name; s++)
		s->count += strcasecmp(s->name, key) == 0;
	return MHD_YES;
}

static bool ambiguous(struct conn *c)
{
	struct seen all[] = {{"Host", 0},
			     {"Origin", 0},
			     {"Authorization", 0},
			     {"Content-Type", 0},
			     {"X-HCP-Tenant", 0},
			     {"X-HCP-Project", 0},
			     {"Content-Length", 0},
			     {"Transfer-Encoding", 0},
			     {NULL, 0}};
	size_t last = sizeof(all) / sizeof(*all) - 2;

	MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, count_one, all);
	for (struct seen *s = all; s->name; s++)
		if (s->count > 1)
			return true;
	return all[last - 1].count + all[last].count > 1;
}

static const char *header(struct conn *c, const char *name)
{
	return MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
}

static bool body_too_long(struct conn *c)
{
	const char *text = header(c, "Content-Length");
	unsigned long long n = 0;

	for (; text && *text >= '0' && *text <= '9' && n <= LIMIT_ENVELOPE; text++)
		n = n * 10 + (unsigned long long)(*text - '0');
	return n > LIMIT_ENVELOPE;
}

static enum path path_of(const char *url)
{
	static const char *const paths[] = {NULL, "/exec", "/packs", "/openapi.json",
					    "/healthz"};

	for (size_t i = EXEC; i <= HEALTH; i++)
		if (strcmp(paths[i], url) == 0)
			return (enum path)i;
	return NOWHERE;
}

static unsigned refuse(const char **error, unsigned status, const char *why)
{
	*error = why;
	return status;
}

unsigned http_judge(struct conn *c, const char *url, const char *method, const char **error)
{
	const struct http *what = c->server->what;

	c->path = path_of(url);
	if (ambiguous(c))
		return refuse(error, MHD_HTTP_BAD_REQUEST, "a header stands twice");
	if (!http_host_ok(what, header(c, "Host")))
		return refuse(error, MHD_HTTP_FORBIDDEN, "this server has another name: Host");
	if (!http_origin_ok(what, header(c, "Origin")))
		return refuse(error, MHD_HTTP_FORBIDDEN, "no page of that Origin may ask");
	c->origin = header(c, "Origin");
	if (c->origin && c->path != NOWHERE && strcmp(method, "OPTIONS") == 0)
		return refuse(error, MHD_HTTP_NO_CONTENT, ""); /* a browser asks for a page */
	if (c->path == NOWHERE)
		return refuse(error, MHD_HTTP_NOT_FOUND,
			      "there are POST /exec, GET /packs, /openapi.json and /healthz");
	if (strcmp(method, c->path == EXEC ? "POST" : "GET") != 0)
		return refuse(error, MHD_HTTP_METHOD_NOT_ALLOWED,
			      c->path == EXEC ? "it takes POST" : "it takes GET");
	if (c->path == EXEC && !http_type_ok(header(c, "Content-Type")))
		return refuse(error, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			      "Content-Type must be application/json");
	if (body_too_long(c))
		return refuse(error, MHD_HTTP_CONTENT_TOO_LARGE,
			      "invalid envelope: over 1 MiB");
	if (header(c, "Authorization") && !http_bearer(header(c, "Authorization")))
		return refuse(error, MHD_HTTP_UNAUTHORIZED,
			      "Authorization must be: Bearer TOKEN");
	if (!what->loopback && c->path != HEALTH && !header(c, "Authorization"))
		return refuse(error, MHD_HTTP_UNAUTHORIZED, "denied: unauthenticated");
	if (c->server->phase != SERVING)
		return refuse(error, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "denied: the server is stopping");
	return 0;
}
