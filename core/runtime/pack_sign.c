/* SPDX-License-Identifier: MIT */
/* hcp_pack_key and hcp_pack_sign: an author's side of hcp.lock. The key is a secret of the
 * author's own root, and what is signed must be a pack that loads. */
#include "runtime/runtime.h"

#include "base/fd.h"
#include "base/trust.h"
#include "pack/signature.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY     "pack_key"
#define COMMAND "hcp pack keygen"

static int load_key(const struct snapshot *s, struct sign_key *k, struct hcp_err *err)
{
	if (s->root.fd < 0) {
		*err = s->broken;
		return -1;
	}
	if (!root_is_ours(&s->root))
		return hcp_fail(err, HCP_E_DENIED,
				"only the owner of the root folder signs with its key");
	return sign_key_load(&s->root, KEY, COMMAND, k, err);
}

static json_t *key_json(const struct snapshot *s, bool create, struct hcp_err *err)
{
	char public[SIGN_KEY_SIZE];
	AUTO_SIGN_KEY k = {0};

	if (create && s->root.fd >= 0 && root_is_ours(&s->root) &&
	    sign_key_create(&s->root, KEY, err) < 0)
		return NULL;
	if (load_key(s, &k, err) < 0)
		return NULL;
	sign_key_public(&k, public);
	return json_pack("{s:s,s:b}", "public_key", public, "created", create);
}

hcp_status hcp_pack_key(hcp_runtime *rt, int create, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = key_json(s, create != 0, &why);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}

/* A signature that was there is replaced, never written over half-way. */
static int put(const struct pack *p, const struct buf *text, struct hcp_err *err)
{
	static const char fresh[] = ".pack.sig.new";

	if (fd_write_fresh(p->fd, fresh, 0644, text->data, text->len, err) < 0)
		return -1;
	if (renameat(p->fd, fresh, p->fd, PACK_SIGNATURE) < 0)
		return hcp_fail_errno(err, "%s/" PACK_SIGNATURE, p->shown);
	return 0;
}

static json_t *sign(const struct snapshot *s, const char *dir, struct pack **p,
		    struct hcp_err *err)
{
	char public[SIGN_KEY_SIZE];
	AUTO_SIGN_KEY k = {0};
	AUTO_BUF text = {0};
	int fd;

	if (load_key(s, &k, err) < 0 || trust_open_top(dir, &fd, err) < 0 ||
	    pack_open_folder(fd, dir, p, err) < 0 || signature_make(*p, &k, &text, err) < 0 ||
	    put(*p, &text, err) < 0)
		return NULL;
	sign_key_public(&k, public);
	return json_pack("{s:s,s:s,s:s}", "pack_id", (*p)->id, "version", (*p)->version,
			 "public_key", public);
}

hcp_status hcp_pack_sign(hcp_runtime *rt, const char *dir, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct pack *p = NULL;
	struct snapshot *s;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !dir || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = sign(s, dir, &p, &why);
	pack_close(p);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}
