/* SPDX-License-Identifier: MIT */
/* The only file that knows PCRE2. */
#include "pack/pattern.h"

#include "base/limits.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
};

/* PCRE2 would take "(*...)" for an order and "(?C...)" for a call to us. Within a class, too:
 * where one ends only PCRE2 could tell, with its \Q and its comments. */
static bool is_order(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text += text[1] == 'c' && text[2] ? 2 : 1;
		else if (*text == '(' && (text[1] == '*' || (text[1] == '?' && text[2] == 'C')))
			return true;
	}
	return false;
}

static pcre2_code *compile(const char *text, struct hcp_err *err)
{
	const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
				 PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALT_BSUX;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;
	PCRE2_SIZE at = 0;
	int number = 0;
	unsigned char why[128];

	if (!context) {
		hcp_fail_nomem(err);
		return NULL;
	}
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &number, &at,
			     context);
	pcre2_compile_context_free(context);
	if (!code) {
		pcre2_get_error_message(number, why, sizeof(why));
		hcp_fail(err, HCP_E_INVALID, "%s at character %zu", (const char *)why,
			 (size_t)at + 1);
	}
	return code;
}

static pcre2_match_context *make_limits(void)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);

	if (limits) {
		pcre2_set_match_limit(limits, LIMIT_PATTERN_STEPS);
		pcre2_set_depth_limit(limits, LIMIT_PATTERN_STEPS);
		pcre2_set_heap_limit(limits, LIMIT_PATTERN_KIB);
	}
	return limits;
}

struct pattern *pattern_compile(const char *text, struct hcp_err *err)
{
	struct pattern *p;

	if (strlen(text) > LIMIT_PATTERN || is_order(text)) {
		hcp_fail(err, HCP_E_INVALID, "%s",
			 is_order(text) ? "\"(*\" and \"(?C\" are not for schemas; "
					  "a plain parenthesis is \"\\(\""
					: "it is too long");
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		hcp_fail_nomem(err);
		return NULL;
	}
	p->code = compile(text, err);
	p->limits = p->code ? make_limits() : NULL;
	if (p->limits)
		return p;
	hcp_fail_nomem(err);
	pattern_free(p);
	return NULL;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_match_context_free(p->limits);
	pcre2_code_free(p->code);
	free(p);
}

enum pattern_verdict pattern_match(const struct pattern *p, const char *text, size_t len)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int rc;

	if (!data)
		return PATTERN_FAILED;
	rc = pcre2_match(p->code, (PCRE2_SPTR)text, len, 0, 0, data, p->limits);
	pcre2_match_data_free(data);
	if (rc >= 0)
		return PATTERN_MATCHES;
	return rc == PCRE2_ERROR_NOMATCH ? PATTERN_OTHER : PATTERN_FAILED;
}
