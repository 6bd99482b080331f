/* SPDX-License-Identifier: MIT */
/* What a script may reach: the operator's list, compared with a URL before anything happens and
 * with each address before it is connected to. A name that resolves to an address of a private
 * network reaches it only where the address is listed, too. Pure. */
#include "net/net.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char name_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

static size_t host_span(const char *s)
{
	size_t n;

	if (*s != '[')
		return strspn(s, name_bytes);
	n = strspn(s + 1, "0123456789abcdefABCDEF:.");
	return n && s[n + 1] == ']' ? n + 2 : 0;
}

static int read_port(const char **p, unsigned *port)
{
	unsigned n = 0;

	for (; **p >= '0' && **p <= '9' && n < 65536; (*p)++)
		n = n * 10 + (unsigned)(**p - '0');
	*port = n;
	return n > 0 && n < 65536 ? 0 : -1;
}

/* Everything behind the authority is visible ASCII without what would end it early. */
static bool is_rest(const char *p)
{
	if (*p && *p != '/' && *p != '?')
		return false;
	for (; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || strchr("#\\<>\"`{}|^", *p))
			return false;
	return true;
}

static int take_apart(const char *url, struct net_target *out)
{
	const char *p = url;
	size_t n;

	if (strncmp(p, "https://", 8) == 0)
		p += 8;
	else if (strncmp(p, "http://", 7) == 0)
		out->plain = true, p += 7;
	else
		return -1;
	n = host_span(p);
	if (n == 0 || n >= sizeof(out->host))
		return -1;
	for (size_t i = 0; i < n; i++)
		out->host[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
	p += n;
	out->port = out->plain ? 80 : 443;
	if (*p == ':' && (p++, read_port(&p, &out->port) < 0))
		return -1;
	out->authority_end = (size_t)(p - url);
	return is_rest(p) ? 0 : -1;
}

static bool is_listed(const struct conf_strings *hosts, const char *entry)
{
	for (size_t i = 0; hosts && i < hosts->count; i++)
		if (strcasecmp(hosts->items[i], entry) == 0)
			return true;
	return false;
}

int net_target(const struct conf_strings *hosts, const char *url, struct net_target *out,
	       struct hcp_err *err)
{
	char entry[300];

	memset(out, 0, sizeof(*out));
	if (take_apart(url, out) < 0)
		return hcp_fail(err, HCP_E_INVALID,
				"the URL must be https://host[:port]/… in ASCII, without a "
				"user or a fragment");
	snprintf(entry, sizeof(entry), "%s%s:%u", out->plain ? "http://" : "", out->host,
		 out->port);
	if (!is_listed(hosts, entry))
		return hcp_fail(err, HCP_E_DENIED, "the policy lists no host \"%s\"", entry);
	return 0;
}

struct range {
	uint8_t bytes[16];
	unsigned bits;
};

/* Of IANA's special-purpose registry: all that isn't reachable from everywhere. */
static const struct range ranges4[] = {
    {{0}, 8},
    {{10}, 8},
    {{100, 64}, 10},
    {{127}, 8},
    {{169, 254}, 16},
    {{172, 16}, 12},
    {{192, 0, 0}, 24},
    {{192, 0, 2}, 24},
    {{192, 88, 99}, 24},
    {{192, 168}, 16},
    {{198, 18}, 15},
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24},
    {{224}, 3},
};
static const struct range ranges6[] = {
    {{0x20, 0x01, 0}, 23},          /* protocol assignments, Teredo among them */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4 holds an IPv4 address */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static bool is_within(const uint8_t *addr, const struct range *r)
{
	unsigned whole = r->bits / 8, rest = r->bits % 8;

	if (memcmp(addr, r->bytes, whole) != 0)
		return false;
	return !rest || !((addr[whole] ^ r->bytes[whole]) >> (8 - rest));
}

static bool is_public4(const uint8_t *addr)
{
	for (size_t i = 0; i < sizeof(ranges4) / sizeof(ranges4[0]); i++)
		if (is_within(addr, &ranges4[i]))
			return false;
	return true;
}

/* 2000::/3 is all that is given out: loopback, mapped and translated IPv4, unique-local,
 * link-local and multicast addresses lie outside of it. */
static bool is_public6(const uint8_t *addr)
{
	if (addr[0] >> 5 != 1)
		return false;
	for (size_t i = 0; i < sizeof(ranges6) / sizeof(ranges6[0]); i++)
		if (is_within(addr, &ranges6[i]))
			return false;
	return true;
}

/* "address:port" as the list spells it, with either scheme. */
static bool is_listed_address(const struct conf_strings *hosts, const struct sockaddr *addr)
{
	uint8_t mine[16], theirs[16];
	const char *entry, *p;
	unsigned port, want;
	char host[64];
	size_t n, size = addr->sa_family == AF_INET ? 4 : 16;

	if (size == 4) {
		memcpy(mine, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
		want = ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
	} else {
		memcpy(mine, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
		want = ntohs(((const struct sockaddr_in6 *)(const void *)addr)->sin6_port);
	}
	for (size_t i = 0; hosts && i < hosts->count; i++) {
		entry = hosts->items[i];
		if (str_starts(entry, "http://"))
			entry += 7;
		n = host_span(entry);
		p = entry + n + 1;
		if (n < 3 || n >= sizeof(host) || entry[n] != ':' || read_port(&p, &port) < 0)
			continue;
		snprintf(host, sizeof(host), "%.*s", (int)(*entry == '[' ? n - 2 : n),
			 entry + (*entry == '['));
		if (port == want && inet_pton(addr->sa_family, host, theirs) == 1 &&
		    memcmp(mine, theirs, size) == 0)
			return true;
	}
	return false;
}

bool net_may_connect(const struct conf_strings *hosts, const struct sockaddr *addr)
{
	bool is_public = false;

	if (addr->sa_family == AF_INET)
		is_public = is_public4(
		    (const uint8_t *)&((const struct sockaddr_in *)(const void *)addr)
			->sin_addr);
	else if (addr->sa_family == AF_INET6)
		is_public = is_public6(
		    ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr);
	else
		return false;
	return is_public || is_listed_address(hosts, addr);
}
