/* SPDX-License-Identifier: MIT */
/* Step 4: who asks. The operator's provider (Lua) answers from the request; whatever it gets
 * wrong denies, and no other provider is asked. A nested run has its parent's principal, whose
 * tenant and expiry are judged anew. */
#include "exec/explain.h"

#include "base/json.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int malformed(struct run *r, const char *why)
{
	return run_refuse(r, EXIT_DENIED, "denied: auth: %s", why);
}

static int64_t epoch_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Whose uid it is: 0 with *found NULL where nobody's, or an error of errno(3). Somebody whose
 * name can't be looked up is not nobody: rules for the name would pass over them. */
static int name_of(uid_t uid, struct passwd *pw, char *space, size_t size,
		   struct passwd **found)
{
	int rc = getpwuid_r(uid, pw, space, size, found);

	return rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM ? 0 : rc;
}

/* What the kernel vouches for: this process's own real uid for the CLI and the library, else
 * what the host got from it. NULL: refused. */
static json_t *peer_json(struct run *r)
{
	const hcp_call *c = r->call;
	bool own = c->peer == PEER_SELF;
	uid_t uid = own ? getuid() : c->peer_uid;
	struct passwd pw, *found = NULL;
	char space[16384];
	json_t *peer;
	int error = name_of(uid, &pw, space, sizeof(space), &found);

	if (error != 0) {
		run_refuse(r, EXIT_DENIED, "denied: auth: the name of uid %u: %s",
			   (unsigned)uid, strerror(error));
		return NULL;
	}
	peer = json_pack("{s:I,s:I,s:I,s:s*}", "uid", (json_int_t)uid, "gid",
			 (json_int_t)(own ? getgid() : c->peer_gid), "pid",
			 (json_int_t)(own ? getpid() : c->peer_pid), "user",
			 found ? found->pw_name : NULL);
	if (!peer)
		run_refuse(r, EXIT_DENIED, "denied: auth: the name of uid %u is not UTF-8",
			   (unsigned)uid);
	return peer;
}

/* NULL: refused. */
static json_t *request_json(struct run *r)
{
	const hcp_call *c = r->call;
	json_t *peer = NULL, *token = NULL, *q;

	if (c->peer != PEER_NONE && !(peer = peer_json(r)))
		return NULL;
	if (c->token)
		token =
		    json_stringn((const char *)secret_bytes(c->token), secret_len(c->token));
	if (c->token && !token) {
		json_decref(peer);
		run_refuse_text(r, EXIT_RUNTIME, NULL);
		return NULL;
	}
	q = json_pack("{s:s,s:s,s:s,s:s*,s:s*,s:o*,s:o*}", "face",
		      runtime_face_name(r->rt->options.face), "pack_id", r->pack->id,
		      "verb_key", r->command->key, "tenant", c->tenant, "project_id",
		      c->project, "peer", peer, "token", token);
	if (!q)
		run_refuse_text(r, EXIT_RUNTIME, NULL);
	return q;
}

/* An optional string of the provider's answer; *out NULL where it is absent. */
static int take_string(struct run *r, const char *key, const char **out)
{
	json_t *v = json_object_get(r->principal_json, key);

	*out = NULL;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v) || !json_string_length(v) ||
	    memchr(json_string_value(v), '\0', json_string_length(v)))
		return run_refuse(r, EXIT_DENIED, "denied: auth: %s must be a string", key);
	*out = json_string_value(v);
	return 0;
}

static int take_strings(struct run *r, const char *key, struct conf_strings *out)
{
	json_t *list = json_object_get(r->principal_json, key), *v;
	size_t i;

	memset(out, 0, sizeof(*out));
	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return run_refuse(r, EXIT_DENIED, "denied: auth: %s must be a list", key);
	out->items = arena_array(&r->arena, json_array_size(list) + 1, sizeof(*out->items));
	if (!out->items)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	json_array_foreach(list, i, v)
	{
		if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
			return run_refuse(r, EXIT_DENIED, "denied: auth: %s must hold strings",
					  key);
		out->items[out->count++] = json_string_value(v);
	}
	out->given = true;
	return 0;
}

static bool id_is_fine(const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)id[i] < 0x20 || id[i] == 0x7f)
			return false;
	return len > 0 && len <= LIMIT_PRINCIPAL;
}

static int take_expiry(struct run *r)
{
	json_t *v = json_object_get(r->principal_json, "expires_at");

	if (!v || json_is_null(v))
		return 0;
	if (json_is_integer(v) && json_integer_value(v) > 0 &&
	    json_integer_value(v) < INT64_MAX / 1000)
		r->principal.expires_at_ms = json_integer_value(v) * 1000;
	else if (json_is_real(v) && json_real_value(v) > 0 && json_real_value(v) < 1e15)
		r->principal.expires_at_ms = (int64_t)(json_real_value(v) * 1000);
	else
		return malformed(r, "expires_at must be seconds since 1970");
	return 0;
}

static int check_known_fields(struct run *r)
{
	static const char *const known[] = {"id",       "tenant", "tenants", "project_id",
					    "projects", "roles",  "claims",  "expires_at"};
	const char *key;
	json_t *v;
	bool found;

	json_object_foreach(r->principal_json, key, v)
	{
		found = false;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found = found || strcmp(key, known[i]) == 0;
		if (!found)
			return run_refuse(r, EXIT_DENIED,
					  "denied: auth: a principal has no field %s", key);
	}
	return 0;
}

/* Its id is recorded and shown to programs, its claims to guards. */
static int check_no_token(struct run *r)
{
	json_t *clean;
	bool same;

	if (!redact_has(&r->redact))
		return 0;
	clean = redact_value(&r->redact, r->principal_json);
	same = clean && json_equal(clean, r->principal_json);
	json_decref(clean);
	return same ? 0 : malformed(r, "the principal holds the token");
}

static int read_principal(struct run *r)
{
	struct principal *p = &r->principal;

	if (!json_is_object(r->principal_json))
		return malformed(r, "the provider's answer is not a principal");
	if (check_known_fields(r) < 0 || check_no_token(r) < 0 ||
	    take_string(r, "id", &p->id) < 0)
		return -1;
	if (!p->id || !id_is_fine(p->id))
		return malformed(r, "a principal needs an id");
	if (take_string(r, "tenant", &p->own_tenant) < 0 ||
	    take_string(r, "project_id", &p->own_project) < 0 ||
	    take_strings(r, "tenants", &p->tenants) < 0 ||
	    take_strings(r, "projects", &p->projects) < 0 ||
	    take_strings(r, "roles", &p->roles) < 0 || take_expiry(r) < 0)
		return -1;
	p->claims = json_object_get(r->principal_json, "claims");
	return 0;
}

static int take_answer(struct run *r, const struct script_result *answer)
{
	struct hcp_err err = {0};

	if (answer->answer == SCRIPT_ANSWER_REFUSED)
		return answer->reason.len
			   ? run_refuse_raw(r, EXIT_DENIED, "denied: ", answer->reason.data,
					    answer->reason.len)
			   : run_refuse(r, EXIT_DENIED, "denied: unauthenticated");
	if (answer->answer != SCRIPT_ANSWER_VALUE)
		return malformed(r, "the provider gave no answer");
	r->principal_json =
	    json_parse(answer->result.data, answer->result.len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!r->principal_json)
		return malformed(r, err.text);
	return read_principal(r);
}

/* What a host or hcp explain vouches for. */
static int take_text(struct run *r, const char *json)
{
	struct hcp_err err = {0};

	r->principal_json = json_parse(json, strlen(json), LIMIT_ENVELOPE_DEPTH, &err);
	return r->principal_json ? read_principal(r) : malformed(r, err.text);
}

static int take_vouched(struct run *r)
{
	if (!r->call->principal)
		return run_refuse(r, EXIT_DENIED, "denied: unauthenticated");
	return take_text(r, r->call->principal);
}

static int ask_host(struct run *r, const struct host_function *own, json_t *request,
		    json_t *config)
{
	struct script_result answer = {0};
	json_t *whole = json_pack("{s:O,s:O*}", "request", request, "with", config);
	int rc = whole ? host_provider_ask(r, own, whole, &answer)
		       : run_refuse_text(r, EXIT_RUNTIME, NULL);

	if (rc == 0)
		rc = take_answer(r, &answer);
	script_result_free(&answer);
	json_decref(whole);
	return rc;
}

static int ask_provider(struct run *r)
{
	const struct policy_auth *auth = policy_auth_for(
	    r->snap->policy, r->call->token != NULL, runtime_face_name(r->rt->options.face));
	struct script_result answer = {0};
	struct hcp_err err = {0};
	struct operator_script script = {.role = SCRIPT_AUTH};
	const struct host_function *own;
	json_t *request, *config = NULL;
	int rc;

	if (!auth)
		return run_refuse(r, EXIT_DENIED, "denied: unauthenticated");
	if (strcmp(auth->provider, HOST_PROVIDER) == 0)
		return take_vouched(r);
	if (r->call->principal)
		return malformed(r, "the policy doesn't ask the host who it is");
	own = host_function(&r->rt->options, HOST_AUTH, auth->provider);
	script.name = auth->provider;
	script.secrets = &auth->secrets;
	script.hosts = &auth->hosts;
	script.request = request = request_json(r);
	if (auth->with)
		script.config = config = yaml_to_json(auth->with, auth->file, &err);
	if (auth->with && !config)
		rc = run_refuse_err(r, EXIT_RUNTIME, "config: ", &err);
	else if (!request)
		rc = -1;
	else if (own)
		rc = ask_host(r, own, request, config);
	else if (operator_script_run(r, &script, &answer, &err) < 0)
		rc = run_refuse_script(r, EXIT_DENIED, "denied: auth: ", &answer, &err);
	else
		rc = take_answer(r, &answer);
	script_result_free(&answer);
	json_decref(request);
	json_decref(config);
	return rc;
}

/* An explained run may be somebody else's: an id, or a principal as a provider gives it. */
static int take_given(struct run *r)
{
	const char *as = r->explain->as;

	if (*as == '{')
		return take_text(r, as);
	r->principal_json = json_pack("{s:s}", "id", as);
	return r->principal_json ? read_principal(r) : malformed(r, "the id is not UTF-8");
}

static void inherit(struct run *r)
{
	const struct principal *from = &r->parent->principal;

	r->principal_json = r->parent->principal_json;
	r->principal = *from;
}

static int identify(struct run *r)
{
	if (r->parent) {
		inherit(r);
		return 0;
	}
	return r->explain && r->explain->as ? take_given(r) : ask_provider(r);
}

int step_principal(struct run *r)
{
	const struct settings *set = &r->snap->set;
	const char *tenant = r->call->tenant ? r->call->tenant : set->tenant;
	const char *project = r->call->project ? r->call->project : set->project_id;
	bool brain;
	struct hcp_err err = {0};

	if (!r->command || !r->command->policy)
		return run_refuse(r, EXIT_DENIED, "no policy for %s", r->verb_key);
	if (identify(r) < 0)
		return -1;
	if (!r->principal.id)
		return run_refuse(r, EXIT_DENIED, "denied: unauthenticated");
	if (r->principal.expires_at_ms && r->principal.expires_at_ms <= epoch_ms())
		return run_refuse(r, EXIT_DENIED, "denied: auth: the principal has expired");
	brain = r->command->policy->land_brain || (r->overlay && r->overlay->land_brain);
	if (policy_identity(r->snap->policy, &r->principal, tenant, project, brain, &r->arena,
			    &err) < 0)
		return run_refuse_err(r, EXIT_DENIED, "", &err);
	r->authenticated = true;
	return 0;
}
