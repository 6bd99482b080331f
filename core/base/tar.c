/* SPDX-License-Identifier: MIT */
#include "base/tar.h"

#include "base/str.h"
#include "base/yaml.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 512

/* Where the fields lie in a header block. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], kind;
	char link[100], magic[8], owner[32], group[32], major[8], minor[8], prefix[155],
	    pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static int fail(struct hcp_err *err, const char *why)
{
	return hcp_fail(err, HCP_E_INVALID, "%s", why);
}

/* Octal digits, spaces in front, a space or NUL behind; -1: anything else. Nothing is written
 * in base 256: no pack is that large. */
static int64_t number(const char *field, size_t size)
{
	int64_t value = 0;
	size_t i = 0, first;

	while (i < size && field[i] == ' ')
		i++;
	for (first = i; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		value = value * 8 + (field[i] - '0');
	return i == first || (i < size && field[i] != ' ' && field[i]) ? -1 : value;
}

static bool sum_holds(const struct header *h)
{
	const unsigned char *bytes = (const unsigned char *)h;
	int64_t sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum +=
		    i >= offsetof(struct header, checksum) && i < offsetof(struct header, kind)
			? ' '
			: bytes[i];
	return number(h->checksum, sizeof(h->checksum)) == sum;
}

static bool is_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* prefix and "/" and name, as POSIX has it; GNU tar keeps other things in prefix's place. */
static void take_name(const struct header *h, struct tar_member *m)
{
	size_t prefix = memcmp(h->magic,
			       "ustar\0"
			       "00",
			       8) == 0
			    ? strnlen(h->prefix, sizeof(h->prefix))
			    : 0;
	size_t name = strnlen(h->name, sizeof(h->name)), skip = 0;

	memcpy(m->name, h->prefix, prefix);
	if (prefix)
		m->name[prefix++] = '/';
	memcpy(m->name + prefix, h->name, name);
	m->name[prefix + name] = '\0';
	while (m->name[skip] == '.' && m->name[skip + 1] == '/')
		skip += 2;
	memmove(m->name, m->name + skip, strlen(m->name + skip) + 1);
	name = strlen(m->name);
	if (m->folder && name && m->name[name - 1] == '/')
		m->name[name - 1] = '\0';
}

/* "27 mtime=1700000000.123\n" and the like: an extended header may say when a file changed and
 * what somebody had to remark, but not what it is called, how long it is or what it is. */
static int check_extended(const char *p, size_t size, struct hcp_err *err)
{
	static const char *const known[] = {"mtime=", "atime=", "ctime=", "comment="};
	size_t len, i, digits;

	for (; size; p += len, size -= len) {
		for (len = digits = 0;
		     digits < size && digits < 9 && p[digits] >= '0' && p[digits] <= '9';
		     digits++)
			len = len * 10 + (size_t)(p[digits] - '0');
		if (!digits || digits >= size || p[digits] != ' ' || len <= digits + 2 ||
		    len > size || p[len - 1] != '\n')
			return fail(err, "an extended header is damaged");
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (len - digits - 1 > strlen(known[i]) &&
			    str_starts(p + digits + 1, known[i]))
				break;
		if (i == sizeof(known) / sizeof(known[0]))
			return fail(err, "an extended header says more than times: write it "
					 "with tar --format=ustar");
	}
	return 0;
}

/* The file's blocks behind its header; NULL: they aren't all there. */
static const char *take_data(struct tar *t, size_t size)
{
	const char *data = t->data + t->at;
	size_t left = t->len - t->at, pad = (BLOCK - size % BLOCK) % BLOCK;

	if (size > left || pad > left - size)
		return NULL;
	t->at += size + pad;
	return data;
}

static int end(const struct tar *t, struct hcp_err *err)
{
	if (t->len - t->at < BLOCK)
		return fail(err, "it is cut short");
	if (!is_zero(t->data + t->at, t->len - t->at))
		return fail(err, "something follows its end");
	return 0;
}

static int take_header(struct tar *t, struct header *h, struct hcp_err *err)
{
	/* an archive ends with two blocks of zeros: less is one that lost its end */
	if (t->len - t->at < BLOCK)
		return fail(err, "it is cut short");
	memcpy(h, t->data + t->at, BLOCK);
	t->at += BLOCK;
	if (is_zero((const char *)h, BLOCK))
		return end(t, err);
	if (memcmp(h->magic, "ustar", 5) != 0 || !sum_holds(h))
		return fail(err, "it is no tar archive, or damaged");
	return 1;
}

static int fail_kind(const struct tar_member *m, char kind, struct hcp_err *err)
{
	char name[YAML_QUOTE];

	yaml_quote(m->name, name);
	return hcp_fail(err, HCP_E_INVALID, "%s is neither a file nor a folder (type '%c')",
			name, kind > ' ' && kind < 0x7f ? kind : '?');
}

int tar_next(struct tar *t, struct tar_member *m, struct hcp_err *err)
{
	struct header h;
	int64_t size;
	int rc;

	for (;;) {
		memset(m, 0, sizeof(*m));
		rc = take_header(t, &h, err);
		if (rc <= 0)
			return rc;
		size = number(h.size, sizeof(h.size));
		m->folder = h.kind == '5';
		take_name(&h, m);
		m->executable = number(h.mode, sizeof(h.mode)) & 0111;
		m->size = (size_t)size;
		if (size < 0 || number(h.mode, sizeof(h.mode)) < 0 || (m->folder && size))
			return fail(err, "a header is damaged");
		m->data = take_data(t, m->size);
		if (!m->data)
			return fail(err, "it is cut short");
		if (h.kind == '0' || h.kind == '\0' || m->folder)
			return 1;
		if (h.kind != 'x' && h.kind != 'g')
			return fail_kind(m, h.kind, err);
		if (check_extended(m->data, m->size, err) < 0)
			return -1;
	}
}
