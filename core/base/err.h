/* SPDX-License-Identifier: MIT */
/* Errors: one fixed struct on the caller's stack, no allocation, the first error wins. A
 * function that can fail returns 0 or -1 and takes a `struct hcp_err *` last. */
#ifndef HCP_BASE_ERR_H
#define HCP_BASE_ERR_H

#include <stdarg.h>

#define HCP_MUST_CHECK   __attribute__((warn_unused_result))
#define HCP_PRINTF(f, a) __attribute__((format(printf, f, a)))

enum hcp_code {
	HCP_E_NONE = 0, /* no error was set */
	HCP_E_NOMEM,    /* memory ran out */
	HCP_E_SYS,      /* a system call failed */
	HCP_E_CONFIG,   /* a configuration file is wrong */
	HCP_E_INVALID,  /* a value that came from outside is wrong */
	HCP_E_DENIED,   /* a decision refused */
	HCP_E_TIMEOUT,  /* a deadline passed */
	HCP_E_LIMIT,    /* a limit other than time was reached */
	HCP_E_CANCELLED /* somebody cancelled the run */
};

struct hcp_err {
	enum hcp_code code;
	int line, column; /* 1-based; 0: none */
	char file[256];   /* "" where no file is meant */
	char text[1024];  /* one line, cut where it is longer; never holds a secret */
};

/* Sets *err unless it is set already or NULL. Always returns -1. */
int hcp_fail(struct hcp_err *err, enum hcp_code code, const char *fmt, ...) HCP_PRINTF(3, 4)
    __attribute__((cold));
/* The same, with strerror(errno) behind ": ". */
int hcp_fail_errno(struct hcp_err *err, const char *fmt, ...) HCP_PRINTF(2, 3)
    __attribute__((cold));
/* An HCP_E_CONFIG with a place in a file. */
int hcp_fail_at(struct hcp_err *err, const char *file, int line, int column, const char *fmt,
		...) HCP_PRINTF(5, 6) __attribute__((cold));
int hcp_fail_nomem(struct hcp_err *err) __attribute__((cold));
/* "<file>:<line>: <text> (column <n>)", or as much of that as is known. */
void hcp_err_format(const struct hcp_err *err, char *out, unsigned long size);

#endif
