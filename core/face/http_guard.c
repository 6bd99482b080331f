/* SPDX-License-Identifier: MIT */
/* Headers that say whether a request may be meant for this server. Pure: text in, a verdict
 * out, and what isn't understood is refused. */
#include "face/http.h"

#include <string.h>
#include <strings.h>

static bool all_digits(const char *s)
{
	return s[strspn(s, "0123456789")] == '\0';
}

/* Bytes of the name before ":PORT"; 0: it has none. */
static size_t name_len(const char *host)
{
	size_t len = strcspn(host, ":");

	if (host[0] == '[') {
		len = strcspn(host, "]");
		len += host[len] == ']';
	}
	return host[len] == '\0' || (host[len] == ':' && all_digits(host + len + 1)) ? len : 0;
}

static bool same(const char *host, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(host, name, len) == 0;
}

bool http_host_ok(const struct http *http, const char *host)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "[::1]", NULL};
	size_t len = host ? name_len(host) : 0;

	if (len == 0)
		return false;
	for (const char *const *h = own; http->loopback && *h; h++)
		if (same(host, len, *h))
			return true;
	for (const char *const *h = http->hosts; *h; h++)
		if (same(host, len, *h))
			return true;
	return same(host, len, http->name);
}

bool http_origin_ok(const struct http *http, const char *origin)
{
	if (!origin)
		return true;
	for (const char *const *o = http->origins; *o; o++)
		if (strcmp(origin, *o) == 0)
			return true;
	return false;
}

bool http_type_ok(const char *type)
{
	static const char json[] = "application/json";

	if (!type || strncasecmp(type, json, sizeof(json) - 1) != 0)
		return false;
	type += sizeof(json) - 1;
	type += strspn(type, " \t");
	if (*type == '\0')
		return true;
	if (*type++ != ';')
		return false;
	type += strspn(type, " \t");
	return strcasecmp(type, "charset=utf-8") == 0 ||
	       strcasecmp(type, "charset=\"utf-8\"") == 0;
}

const char *http_bearer(const char *authorization)
{
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	authorization += 7;
	return authorization + strspn(authorization, " ");
}
