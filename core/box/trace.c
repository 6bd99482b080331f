/* SPDX-License-Identifier: MIT */
/* What the init tells of refused calls, in words: which call, on what, why, and what the
 * operator could do. It decides nothing and has no part in a run that isn't traced. */
#include "box/trace.h"
#include "box/wire.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	int error;
	const char *call, *hint; /* call NULL: any */
} hints[] = {
    {ENOENT, NULL, "the host has it, the sandbox doesn't: see read"},
    {EROFS, NULL, "read-only here: see write and workspaces"},
    {EACCES, "execve", "see exec"},
    {EACCES, "execveat", "see exec"},
    {EACCES, "connect", "see network"},
    {EACCES, "bind", "see network"},
    {EACCES, NULL, "no rule lets it through: see read and write"},
    {EPERM, NULL, "never let through, or only for who has the right"},
    {ENOSYS, NULL, "hidden, for the C library to take another call"},
    {EAFNOSUPPORT, NULL, "see network"},
    {EPROTONOSUPPORT, NULL, "see network"},
    {EOPNOTSUPP, "sendto", "see network"},
    {EOPNOTSUPP, "sendmsg", "see network"},
    {ENETUNREACH, NULL, "see network"},
    {EAGAIN, NULL, "limit processes"},
    {EMFILE, NULL, "limit open_files"},
    {ENOMEM, NULL, "limit memory"},
    {EFBIG, NULL, "limit file"},
    {ENOSPC, NULL, "limit file: as large as /tmp and an ephemeral workspace are"},
};

static const char *hint_for(int error, const char *call)
{
	for (size_t i = 0; i < COUNT(hints); i++)
		if (hints[i].error == error && (!hints[i].call || !strcmp(hints[i].call, call)))
			return hints[i].hint;
	return NULL;
}

static uint64_t digest_of(const struct box_denial *d)
{
	uint64_t h = 14695981039346656037u, parts[] = {d->nr, (uint64_t)d->error, 0};

	if (!d->path[0])
		parts[2] = d->args[0];
	for (size_t i = 0; i < sizeof(parts); i++)
		h = (h ^ ((const unsigned char *)parts)[i]) * 1099511628211u;
	for (const char *p = d->path; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	return h;
}

static bool is_new(struct trace *t, const struct box_denial *d)
{
	uint64_t h = digest_of(d);

	for (size_t i = 0; i < t->told_count; i++)
		if (t->told[i] == h)
			return false;
	if (t->told_count == COUNT(t->told))
		return false;
	t->told[t->told_count++] = h;
	return true;
}

/* A program looks for much that is nowhere. */
static bool matters(const struct box_denial *d)
{
	if (d->error == ENOENT)
		return d->path[0] == '/' &&
		       faccessat(AT_FDCWD, d->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return hint_for(d->error, "") != NULL || d->error == EOPNOTSUPP;
}

/* No control characters: a path is the program's to choose, and this goes to a terminal.
 * Nothing else is changed: a secret in it must still be found, and holds none of these. */
static void add_path(struct buf *out, const char *path)
{
	if (strlen(path) == BOX_PATH_TOLD) { /* cut: perhaps in the middle of one */
		buf_printf(out, "[a path of %d bytes or more]", BOX_PATH_TOLD);
		return;
	}
	for (const char *p = path; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add(out, p, 1);
	}
}

static void tell(struct trace *t, const struct box_denial *d)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)d->nr);
	const char *call = name ? name : "call", *why = strerrordesc_np(d->error);
	const char *hint = hint_for(d->error, call);
	struct buf line = {0};

	if (hint) {
		buf_puts(&line, call);
		if (!name)
			buf_printf(&line, " %u", d->nr);
		if (d->path[0]) {
			buf_puts(&line, " ");
			add_path(&line, d->path);
		} else {
			buf_printf(&line, "(%llu, %llu, …)", (unsigned long long)d->args[0],
				   (unsigned long long)d->args[1]);
		}
		buf_printf(&line, ": %s (%s)", why ? why : "refused", hint);
		if (!line.failed)
			t->fn(t->user, line.data, line.len);
	}
	buf_free(&line);
	free(name);
}

void trace_take(struct trace *t)
{
	struct box_denial d;

	while (t->fd >= 0 && read(t->fd, &d, sizeof(d)) == (ssize_t)sizeof(d)) {
		d.path[sizeof(d.path) - 1] = '\0';
		if (matters(&d) && is_new(t, &d))
			tell(t, &d);
	}
}
