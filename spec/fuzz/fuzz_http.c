/* SPDX-License-Identifier: MIT */
/* Any text as the headers that decide whether a request is meant for this server: what passes
 * is a name that the server has, an origin that it was told of, or JSON, and nothing else. */
#include "face/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const hosts[] = {"hcp.example", NULL};
static const char *const origins[] = {"https://page.example", NULL};

static bool is_name(const char *host, const char *name)
{
	size_t len = strlen(name);

	if (strncasecmp(host, name, len) != 0)
		return false;
	host += len;
	return *host == '\0' ||
	       (*host == ':' && host[1 + strspn(host + 1, "0123456789")] == '\0');
}

static void check_host(const struct http *http, const char *text)
{
	bool own = is_name(text, "hcp.example") || is_name(text, http->name);

	if (http->loopback)
		own = own || is_name(text, "localhost") || is_name(text, "127.0.0.1") ||
		      is_name(text, "[::1]");
	if (http_host_ok(http, text) != own)
		abort();
}

static void check_type(const char *text)
{
	if (http_type_ok(text) && strncasecmp(text, "application/json", 16) != 0)
		abort();
	if (http_type_ok(text) && text[16] && !strchr(" \t;", text[16]))
		abort();
	if (http_type_ok(text) && strchr(text, ','))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http near = {
	    .loopback = true, .name = "127.0.0.5", .hosts = hosts, .origins = origins};
	struct http far = {.name = "[2001:db8::1]", .hosts = hosts, .origins = origins};
	char *text = malloc(size + 1); /* exactly as long as it is, for the sanitizer */
	const char *token;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	check_host(&near, text);
	check_host(&far, text);
	check_type(text);
	if (http_origin_ok(&near, text) != (strcmp(text, origins[0]) == 0))
		abort();
	token = http_bearer(text);
	if (token && (strncasecmp(text, "bearer ", 7) != 0 || *token == ' '))
		abort();
	free(text);
	return 0;
}
