/* SPDX-License-Identifier: MIT */
/* The one error type. Nothing here allocates, prints or exits. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int set(struct hcp_err *err, enum hcp_code code, const char *fmt, va_list ap)
    HCP_PRINTF(3, 0);
static int set(struct hcp_err *err, enum hcp_code code, const char *fmt, va_list ap)
{
	if (!err || err->code != HCP_E_NONE)
		return -1;
	memset(err, 0, sizeof(*err));
	err->code = code;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	return -1;
}

int hcp_fail(struct hcp_err *err, enum hcp_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

int hcp_fail_errno(struct hcp_err *err, const char *fmt, ...)
{
	int saved = errno;
	const char *what = strerrordesc_np(saved);
	size_t used;
	va_list ap;

	if (!err || err->code != HCP_E_NONE)
		return -1;
	va_start(ap, fmt);
	set(err, saved == ENOMEM ? HCP_E_NOMEM : HCP_E_SYS, fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	/* in English, whatever locale a host has set */
	snprintf(err->text + used, sizeof(err->text) - used, ": %s",
		 what ? what : "unknown error");
	return -1;
}

/* Of a long path the end is what tells. */
static void name_file(struct hcp_err *err, const char *file)
{
	size_t len = strlen(file), room = sizeof(err->file) - sizeof("...");

	if (len < sizeof(err->file))
		memcpy(err->file, file, len + 1);
	else
		snprintf(err->file, sizeof(err->file), "...%s", file + len - room);
}

int hcp_fail_at(struct hcp_err *err, const char *file, int line, int column, const char *fmt,
		...)
{
	va_list ap;

	if (!err || err->code != HCP_E_NONE)
		return -1;
	va_start(ap, fmt);
	set(err, HCP_E_CONFIG, fmt, ap);
	va_end(ap);
	name_file(err, file);
	err->line = line;
	err->column = column;
	return -1;
}

int hcp_fail_nomem(struct hcp_err *err)
{
	return hcp_fail(err, HCP_E_NOMEM, "out of memory");
}

void hcp_err_format(const struct hcp_err *err, char *out, unsigned long size)
{
	if (!err->file[0])
		snprintf(out, size, "%s", err->text);
	else if (err->line <= 0)
		snprintf(out, size, "%s: %s", err->file, err->text);
	else if (err->column <= 0)
		snprintf(out, size, "%s:%d: %s", err->file, err->line, err->text);
	else
		snprintf(out, size, "%s:%d: %s (column %d)", err->file, err->line, err->text,
			 err->column);
}
