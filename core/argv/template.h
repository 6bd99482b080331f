/* SPDX-License-Identifier: MIT */
/* A compiled template, for core/argv/ alone. Nothing here changes once it is compiled, so that
 * runs may share it. */
#ifndef HCP_ARGV_TEMPLATE_H
#define HCP_ARGV_TEMPLATE_H

#include "argv/argv.h"
#include "base/str.h"

enum piece_kind {
	PIECE_TEXT, /* what the author wrote */
	PIECE_ARG,  /* an argument's value */
	PIECE_ITEM  /* the element of the `each` around it */
};
struct piece {
	enum piece_kind kind;
	const char *text; /* the literal, or the argument's name */
	size_t len;
};
/* At least one piece; none of them an empty literal. */
struct token {
	bool verb; /* {{verb}}: no pieces, the words of the template instead */
	size_t count;
	struct piece *pieces;
};
enum entry_kind { ENTRY_TOKEN, ENTRY_WHEN, ENTRY_EACH };
struct entry {
	enum entry_kind kind;
	const char *name; /* of `when` and `each` */
	size_t count;     /* tokens; tokens that are always empty are left out */
	struct token *tokens;
};
struct argv_template {
	struct conf_strings verb;
	size_t count;
	struct entry *entries;
};

/* argv_string into a buffer; a failed buffer is the caller's to see. */
int argv_add_string(struct buf *out, const json_t *value, const char *name,
		    struct hcp_err *err) HCP_MUST_CHECK;

#endif
