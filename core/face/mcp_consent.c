/* SPDX-License-Identifier: MIT */
/* Asking a person: the question as text, and the state that a client of the newer revision
 * carries in between. That state comes from outside: it counts only with this process's seal,
 * until it expires, and once. What it seals is the question's digest; whether a run is what was
 * asked is the library's to compare. */
#include "face/mcp_server.h"

#include <string.h>
#include <time.h>

#define DIGEST_BYTES 32

struct sealed {
	unsigned char nonce[16];
	unsigned char until_ms[8];
	unsigned char digest[DIGEST_BYTES];
	unsigned char mac[crypto_auth_BYTES];
};
#define SEALED_BYTES (16 + 8 + DIGEST_BYTES) /* what the seal is over */
#define VARIANT      sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define TEXT_BYTES   sodium_base64_ENCODED_LEN(sizeof(struct sealed), VARIANT)

int64_t mcp_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* What shows as nothing or turns text around: zero width, bidirectional controls, tags. */
static bool is_hidden(unsigned c)
{
	return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe0fff);
}

static unsigned code_point(const char *s, size_t n)
{
	unsigned c = (unsigned char)s[0];

	c &= n == 1 ? 0x7f : 0xffu >> (n + 1);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

/* JSON text in which everything can be seen. */
static void add_visible(struct buf *out, const json_t *value)
{
	AUTO_BUF json = {0};
	size_t n;

	json_add_value(&json, value);
	out->failed |= json.failed;
	for (size_t i = 0; !json.failed && i < json.len; i += n) {
		n = utf8_len(json.data + i, json.len - i);
		if (n == 0)
			n = 1;
		if (is_hidden(code_point(json.data + i, n)))
			buf_printf(out, "\\u{%x}", code_point(json.data + i, n));
		else
			buf_add(out, json.data + i, n);
	}
}

static void add_line(struct buf *out, const char *what, const json_t *question, const char *key)
{
	const json_t *value = json_object_get(question, key);

	if (!value)
		return;
	buf_printf(out, "%s: ", what);
	add_visible(out, value);
	buf_putc(out, '\n');
}

void mcp_question(const json_t *question, struct buf *out)
{
	AUTO_BUF text = {0};

	buf_puts(&text, "May this run, once, exactly so?\n");
	add_line(&text, "pack", question, "pack_id");
	add_line(&text, "command", question, "verb_key");
	add_line(&text, "what it does", question, "summary");
	add_line(&text, "as", question, "principal");
	add_line(&text, "tenant", question, "tenant");
	add_line(&text, "project", question, "project_id");
	add_line(&text, "arguments", question, "args");
	if (json_is_true(json_object_get(question, "hidden")))
		buf_puts(&text, "and arguments that are secret and not shown\n");
	buf_puts(out, "{\"mode\":\"form\",\"message\":");
	json_add_string(out, text.data ? text.data : "", text.len);
	buf_puts(out, ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}");
	out->failed |= text.failed;
}

static void put_time(unsigned char out[8], int64_t ms)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)((uint64_t)ms >> (8 * i));
}

static int64_t get_time(const unsigned char in[8])
{
	uint64_t ms = 0;

	for (int i = 0; i < 8; i++)
		ms |= (uint64_t)in[i] << (8 * i);
	return (int64_t)ms;
}

void mcp_seal(struct mcp *m, const char *digest, struct buf *out)
{
	struct sealed s;
	char text[TEXT_BYTES];
	size_t n = 0;

	if (sodium_hex2bin(s.digest, sizeof(s.digest), digest, strlen(digest), NULL, &n, NULL) <
		0 ||
	    n != sizeof(s.digest)) {
		out->failed = true;
		return;
	}
	randombytes_buf(s.nonce, sizeof(s.nonce));
	put_time(s.until_ms, mcp_now_ms() + MCP_CONSENT_MS);
	crypto_auth(s.mac, s.nonce, SEALED_BYTES, m->key);
	sodium_bin2base64(text, sizeof(text), (const unsigned char *)&s, sizeof(s), VARIANT);
	buf_puts(out, text);
}

/* Notes a nonce until its state expires. False: it was used, or there is no room to know. */
static bool use_once(struct mcp *m, const struct sealed *s)
{
	struct mcp_used *room = NULL;
	int64_t now = mcp_now_ms();
	bool fresh = true;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MCP_USED; i++) {
		if (m->used[i].until_ms <= now)
			room = &m->used[i];
		else if (memcmp(m->used[i].nonce, s->nonce, sizeof(s->nonce)) == 0)
			fresh = false;
	}
	if (fresh && room) {
		memcpy(room->nonce, s->nonce, sizeof(room->nonce));
		room->until_ms = get_time(s->until_ms);
	}
	pthread_mutex_unlock(&m->lock);
	return fresh && room;
}

bool mcp_unseal(struct mcp *m, const char *state, char digest[65])
{
	struct sealed s;
	size_t n = 0;

	if (sodium_base642bin((unsigned char *)&s, sizeof(s), state, strlen(state), NULL, &n,
			      NULL, VARIANT) < 0 ||
	    n != sizeof(s) || crypto_auth_verify(s.mac, s.nonce, SEALED_BYTES, m->key) < 0 ||
	    get_time(s.until_ms) <= mcp_now_ms() || !use_once(m, &s))
		return false;
	sodium_bin2hex(digest, 65, s.digest, sizeof(s.digest));
	return true;
}

enum mcp_answer mcp_answer_of(const json_t *result)
{
	const char *action = json_string_value(json_object_get(result, "action"));

	return action && strcmp(action, "accept") == 0 ? MCP_ACCEPTED : MCP_DECLINED;
}
