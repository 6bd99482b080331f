/* SPDX-License-Identifier: MIT */
/* Templates from YAML. Every name is judged here, with its place, so that no run meets a
 * placeholder nobody declared; what isn't understood is refused, never taken for a literal. */
#include "argv/template.h"

#include <string.h>

struct compiler {
	const struct conf_ctx *ctx;
	const struct argv_command *cmd;
	const char *each; /* the name of the `each` around the token, or NULL */
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";

static int check_name(const struct compiler *k, const struct yaml_node *at, const char *name,
		      struct hcp_err *err)
{
	char quoted[YAML_QUOTE];
	const char *why;

	yaml_quote(name, quoted);
	if (!*name)
		return conf_fail(k->ctx, at, err, "a placeholder needs a name");
	if (!strchr(letters, *name) || name[strspn(name, others)])
		return conf_fail(k->ctx, at, err,
				 "%s can't be a placeholder's name: letters, digits, \"_\" and "
				 "\"-\", a letter or \"_\" first",
				 quoted);
	why = k->cmd->placeholder ? k->cmd->placeholder(k->cmd->user, name) : NULL;
	if (why)
		return conf_fail(k->ctx, at, err, "{{%s}} %s", name, why);
	return 0;
}

static bool is_verb(const struct compiler *k, const char *name)
{
	return !k->cmd->is_cli && str_eq(name, "verb");
}

/* What stands between "{{" and "}}", spaces around it left out. */
static const char *inner_name(const struct compiler *k, const char *from, size_t len)
{
	while (len && (*from == ' ' || *from == '\t')) {
		from++;
		len--;
	}
	while (len && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	return arena_strndup(k->ctx->arena, from, len);
}

static int add_name(const struct compiler *k, const struct yaml_node *node, const char *name,
		    struct token *out, struct hcp_err *err)
{
	bool item = k->each && str_eq(k->each, name);

	if (!name)
		return hcp_fail_nomem(err);
	if (is_verb(k, name)) {
		out->verb = true;
		return 0;
	}
	if (check_name(k, node, name, err) < 0)
		return -1;
	out->pieces[out->count++] =
	    (struct piece){item ? PIECE_ITEM : PIECE_ARG, name, strlen(name)};
	return 0;
}

static void add_literal(struct token *out, const char *text, size_t len)
{
	if (len)
		out->pieces[out->count++] = (struct piece){PIECE_TEXT, text, len};
}

static size_t most_pieces(const char *text)
{
	size_t n = 1;

	for (const char *at = strstr(text, "{{"); at; at = strstr(at + 2, "{{"))
		n += 2;
	return n;
}

static int split_token(const struct compiler *k, const struct yaml_node *node,
		       struct token *out, struct hcp_err *err)
{
	const char *at = node->text, *open, *close;

	while ((open = strstr(at, "{{"))) {
		close = strstr(open + 2, "}}");
		if (!close)
			return conf_fail(k->ctx, node, err, "\"{{\" without its \"}}\"");
		add_literal(out, at, (size_t)(open - at));
		if (add_name(k, node, inner_name(k, open + 2, (size_t)(close - open - 2)), out,
			     err) < 0)
			return -1;
		at = close + 2;
		/* an argument of its own, or several: half a token can't be */
		if (out->verb && (out->count || *at))
			return conf_fail(k->ctx, node, err,
					 "{{verb}} must be a token of its own");
	}
	add_literal(out, at, strlen(at));
	return 0;
}

static int compile_token(const struct compiler *k, const struct yaml_node *node,
			 struct token *out, struct hcp_err *err)
{
	*out = (struct token){0};
	if (node->kind == YAML_MAP)
		return conf_fail(k->ctx, node, err, "\"then\" can hold only plain tokens");
	if (node->kind != YAML_STR)
		return conf_fail(k->ctx, node, err, "a token must be a string, not %s%s",
				 yaml_kind_name(node->kind), node->len ? ": quote it" : "");
	out->pieces = arena_array(k->ctx->arena, most_pieces(node->text), sizeof(*out->pieces));
	if (!out->pieces)
		return hcp_fail_nomem(err);
	return split_token(k, node, out, err);
}

/* Empty tokens never render: left out, they can't hide what the others are. */
static int compile_tokens(const struct compiler *k, const struct yaml_node *const *nodes,
			  size_t count, struct entry *out, struct hcp_err *err)
{
	out->tokens = arena_array(k->ctx->arena, count, sizeof(*out->tokens));
	if (!out->tokens)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct token *t = &out->tokens[out->count];

		if (compile_token(k, nodes[i], t, err) < 0)
			return -1;
		out->count += t->verb || t->count;
	}
	return 0;
}

struct entry_conf {
	const char *when, *each;
	const struct yaml_node *then;
};
static const struct conf_field entry_fields[] = {
    {.key = "when",
     .type = CONF_STRING,
     .offset = offsetof(struct entry_conf, when),
     .doc = "the argument that must be there for the tokens to be"},
    {.key = "each",
     .type = CONF_STRING,
     .offset = offsetof(struct entry_conf, each),
     .doc = "the list for each of whose items the tokens stand once"},
    {.key = "then",
     .type = CONF_LIST,
     .offset = offsetof(struct entry_conf, then),
     .required = true,
     .shape = "{\"type\": \"string\"}",
     .doc = "the tokens"},
};
const struct conf_table argv_entry_table = CONF_ROWS("a template entry", entry_fields);

static int compile_mapping(struct compiler *k, const struct yaml_node *node, struct entry *out,
			   struct hcp_err *err)
{
	struct entry_conf conf = {0};
	const struct yaml_node *at;
	int rc;

	if (conf_read(k->ctx, node, &argv_entry_table, &conf, err) < 0)
		return -1;
	if (!conf.when == !conf.each)
		return conf_fail(k->ctx, node, err,
				 "a template entry needs either \"when\" or \"each\"");
	if (!conf.then->count)
		return conf_fail(k->ctx, conf.then, err,
				 "\"then\" must hold at least one token");
	out->kind = conf.when ? ENTRY_WHEN : ENTRY_EACH;
	out->name = conf.when ? conf.when : conf.each;
	at = yaml_get(node, conf.when ? "when" : "each");
	if (is_verb(k, out->name))
		return conf_fail(k->ctx, at, err,
				 "\"verb\" is the command's own words here, no argument");
	if (check_name(k, at, out->name, err) < 0)
		return -1;
	k->each = conf.each;
	rc = compile_tokens(k, conf.then->items, conf.then->count, out, err);
	k->each = NULL;
	return rc;
}

static int compile_entry(struct compiler *k, const struct yaml_node *node, struct entry *out,
			 struct hcp_err *err)
{
	*out = (struct entry){.kind = ENTRY_TOKEN};
	if (node->kind == YAML_MAP)
		return compile_mapping(k, node, out, err);
	return compile_tokens(k, &node, 1, out, err);
}

/* cli[] begins with the bin's name, for readers; the program itself is another key's. */
static int check_bin(const struct compiler *k, const struct yaml_node *list,
		     struct hcp_err *err)
{
	const struct yaml_node *bin = list->count ? list->items[0] : NULL;

	if (!bin || bin->kind != YAML_STR || !bin->len || strstr(bin->text, "{{"))
		return conf_fail(k->ctx, bin ? bin : list, err,
				 "\"cli\" must begin with the bin's name, a plain string");
	return 0;
}

static int begin(const struct compiler *k, size_t count, struct argv_template **out,
		 struct hcp_err *err)
{
	struct arena *a = k->ctx->arena;
	struct argv_template *t = arena_alloc(a, sizeof(*t));

	if (!t || argv_verb_words(k->cmd->verb_key, a, &t->verb) < 0)
		return hcp_fail_nomem(err);
	t->entries = arena_array(a, count, sizeof(*t->entries));
	if (!t->entries)
		return hcp_fail_nomem(err);
	*out = t;
	return 0;
}

int argv_compile(const struct conf_ctx *c, const struct yaml_node *node,
		 const struct argv_command *cmd, const struct argv_template **out,
		 struct hcp_err *err)
{
	struct compiler k = {.ctx = c, .cmd = cmd};
	struct argv_template *t;

	*out = NULL;
	if (node->kind != YAML_SEQ)
		return conf_fail(c, node, err, "a template must be a list, not %s",
				 yaml_kind_name(node->kind));
	if ((cmd->is_cli && check_bin(&k, node, err) < 0) ||
	    begin(&k, node->count, &t, err) < 0)
		return -1;
	for (size_t i = cmd->is_cli ? 1 : 0; i < node->count; i++) {
		struct entry *e = &t->entries[t->count];

		if (compile_entry(&k, node->items[i], e, err) < 0)
			return -1;
		t->count += e->count > 0;
	}
	*out = t;
	return 0;
}

int argv_compile_default(const struct conf_ctx *c, const struct argv_command *cmd,
			 const struct argv_template **out, struct hcp_err *err)
{
	struct compiler k = {.ctx = c, .cmd = cmd};
	struct argv_template *t;
	struct token *verb;

	*out = NULL;
	if (begin(&k, 1, &t, err) < 0)
		return -1;
	verb = arena_alloc(c->arena, sizeof(*verb));
	if (!verb)
		return hcp_fail_nomem(err);
	verb->verb = true;
	t->entries[t->count++] = (struct entry){ENTRY_TOKEN, NULL, 1, verb};
	*out = t;
	return 0;
}

static bool has_literal(const struct token *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->pieces[i].kind == PIECE_TEXT)
			return true;
	return t->verb;
}

static bool is_argument_list(const struct token *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const char *name = t->pieces[i].text;

		if (t->pieces[i].kind == PIECE_ITEM || str_eq(name, "args") ||
		    str_eq(name, "argv") || str_eq(name, "command") || str_eq(name, "cmd"))
			return true;
	}
	return false;
}

/* Several of them are no better than one: ["{{command}}", {each: args, ...}] runs anything. */
bool argv_is_pass_through(const struct argv_template *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t n = 0; n < t->entries[i].count; n++) {
			const struct token *token = &t->entries[i].tokens[n];

			if (has_literal(token) || !is_argument_list(token))
				return false;
		}
	return t->count > 0;
}

bool argv_has_no_literal(const struct argv_template *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t n = 0; n < t->entries[i].count; n++)
			if (has_literal(&t->entries[i].tokens[n]))
				return false;
	return t->count > 0;
}
