/* SPDX-License-Identifier: MIT */
/* Who may activate what, and what is active. A permission to be asked for comes from here, so
 * every error is an answer, and the answer is no. */
#include "session/store.h"

#include "base/fd.h"
#include "base/str.h"

#include <string.h>

static int check_names(const char *session, const char *pack_id, struct hcp_err *err)
{
	if (!name_is_session(session))
		return hcp_fail(err, HCP_E_INVALID, "\"%s\" is not the name of a session",
				session);
	if (pack_id && !name_is_id(pack_id))
		return hcp_fail(err, HCP_E_INVALID, "\"%s\" is not a pack id", pack_id);
	return 0;
}

const struct settings_session *session_in_settings(const struct settings *set,
						   const char *session, const char *pack_id)
{
	for (size_t i = 0; i < set->session_count; i++) {
		const struct settings_session *s = &set->sessions[i];

		if (strcmp(s->name, session) != 0)
			continue;
		for (size_t k = 0; k < s->packs.count; k++)
			if (strcmp(s->packs.items[k], pack_id) == 0)
				return s;
	}
	return NULL;
}

static int read_stored(struct root *root, const char *session, struct arena *a,
		       struct session_list *out, struct hcp_err *err)
{
	AUTO_FD dir = -1;

	memset(out, 0, sizeof(*out));
	if (session_store_find(root, &dir, err) < 0)
		return -1;
	return dir < 0 ? 0 : session_store_read(root, dir, session, a, out, err);
}

/* Where the pack stands in the sorted list, or belongs. */
static size_t place_of(const struct session_list *list, const char *pack_id, bool *found)
{
	size_t i = 0;

	while (i < list->count && strcmp(list->packs[i], pack_id) < 0)
		i++;
	*found = i < list->count && strcmp(list->packs[i], pack_id) == 0;
	return i;
}

int session_is_active(struct root *root, const struct settings *set, const char *name,
		      const char *pack_id, bool *active, struct hcp_err *err)
{
	struct session_list list;
	struct arena a = {0};
	bool found = false;
	int rc;

	*active = false;
	if (check_names(name, pack_id, err) < 0)
		return -1;
	if (session_in_settings(set, name, pack_id)) {
		*active = true;
		return 0;
	}
	rc = read_stored(root, name, &a, &list, err);
	if (rc == 0)
		place_of(&list, pack_id, &found);
	arena_free(&a);
	*active = rc == 0 && found;
	return rc;
}

static int add(struct arena *a, struct session_list *list, const char *pack_id)
{
	const char **grown;
	bool found;
	size_t at = place_of(list, pack_id, &found);

	if (found)
		return 0;
	grown = arena_array(a, list->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	for (size_t i = 0; i <= list->count; i++)
		grown[i] = i < at ? list->packs[i] : i == at ? pack_id : list->packs[i - 1];
	list->packs = grown;
	list->count++;
	return 0;
}

int session_read(struct root *root, const struct settings *set, const char *name,
		 struct arena *a, struct session_list *out, struct hcp_err *err)
{
	memset(out, 0, sizeof(*out));
	if (check_names(name, NULL, err) < 0 || read_stored(root, name, a, out, err) < 0)
		return -1;
	for (size_t i = 0; i < set->session_count; i++) {
		const struct settings_session *s = &set->sessions[i];

		for (size_t k = 0; strcmp(s->name, name) == 0 && k < s->packs.count; k++) {
			const char *id = arena_strdup(a, s->packs.items[k]);

			if (!id || add(a, out, id) < 0) {
				memset(out, 0, sizeof(*out));
				return hcp_fail_nomem(err);
			}
		}
	}
	return 0;
}

static int change(struct root *root, int dirfd, const char *session, const char *pack_id,
		  bool on, bool *changed, struct arena *a, struct hcp_err *err)
{
	struct session_list list;
	bool found;
	size_t at;

	if (session_store_read(root, dirfd, session, a, &list, err) < 0)
		return -1;
	at = place_of(&list, pack_id, &found);
	if (found == on)
		return 0;
	if (on && add(a, &list, pack_id) < 0)
		return hcp_fail_nomem(err);
	if (!on) {
		list.count--;
		memmove(&list.packs[at], &list.packs[at + 1],
			(list.count - at) * sizeof(*list.packs));
	}
	if (session_store_replace(root, dirfd, session, &list, err) < 0)
		return -1;
	*changed = true;
	return 0;
}

static int may_change(const struct root *root, const struct settings *set, struct hcp_err *err)
{
	if (!set->activate_operator || root_is_ours(root))
		return 0;
	return hcp_fail(err, HCP_E_DENIED,
			"activation is the operator's: hcp.yaml says activate: operator");
}

int session_set(struct root *root, const struct settings *set, const char *name,
		const char *pack_id, bool on, bool *changed, struct hcp_err *err)
{
	AUTO_FD dir = -1, lock = -1;
	struct arena a = {0};
	int rc;

	*changed = false;
	if (check_names(name, pack_id, err) < 0 || may_change(root, set, err) < 0)
		return -1;
	if (session_in_settings(set, name, pack_id))
		return on ? 0
			  : hcp_fail(err, HCP_E_INVALID,
				     "pack %s is activated by hcp.yaml: take it out there",
				     pack_id);
	if (root_open_state(root, err) < 0 || root_state_dir(root, "sessions", &dir, err) < 0 ||
	    session_store_lock(root, dir, &lock, err) < 0)
		return -1;
	rc = change(root, dir, name, pack_id, on, changed, &a, err);
	arena_free(&a);
	return rc;
}
