/* SPDX-License-Identifier: MIT */
/* What zlib says of one gzip member, with a limit on what it may become. zlib is loaded here
 * and nowhere else: runs don't need it, and every start of hcp would wait for it. */
#include "base/inflate.h"

#include <dlfcn.h>
#include <stdint.h>
#include <zlib.h>

#define GZIP_ONLY (16 + MAX_WBITS)

struct zlib {
	int (*begin)(z_stream *z, int bits, const char *version, int size);
	int (*go_on)(z_stream *z, int flush);
	int (*end)(z_stream *z);
};

/* Never unloaded. POSIX lets an object pointer become a function's this way. */
static int load(struct zlib *z, struct hcp_err *err)
{
	void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

	if (lib) {
		*(void **)&z->begin = dlsym(lib, "inflateInit2_");
		*(void **)&z->go_on = dlsym(lib, "inflate");
		*(void **)&z->end = dlsym(lib, "inflateEnd");
	}
	if (!lib || !z->begin || !z->go_on || !z->end)
		return hcp_fail(err, HCP_E_CONFIG, "zlib is not installed");
	return 0;
}

/* What zlib said last; -1: err says that the limit is passed. */
static int unpack(const struct zlib *lib, z_stream *z, size_t limit, struct buf *out,
		  struct hcp_err *err)
{
	unsigned char chunk[16384];
	size_t began = out->len, made;
	int said;

	do {
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		said = lib->go_on(z, Z_NO_FLUSH);
		made = sizeof(chunk) - z->avail_out;
		if (made > limit - (out->len - began))
			return hcp_fail(err, HCP_E_LIMIT, "it holds more than %zuM",
					limit >> 20);
		buf_add(out, chunk, made);
	} while (said == Z_OK && !out->failed);
	return out->failed ? Z_MEM_ERROR : said;
}

static int judge(int said, const z_stream *z, struct hcp_err *err)
{
	switch (said) {
	case Z_STREAM_END:
		return z->avail_in == 0
			   ? 0
			   : hcp_fail(err, HCP_E_INVALID, "something follows its end");
	case Z_BUF_ERROR:
		return hcp_fail(err, HCP_E_INVALID, "it is cut short");
	case Z_MEM_ERROR:
		return hcp_fail_nomem(err);
	default:
		return hcp_fail(err, HCP_E_INVALID, "it is no gzip file, or damaged: %s",
				z->msg ? z->msg : "its end is missing");
	}
}

int inflate_gzip(const unsigned char *data, size_t len, size_t limit, struct buf *out,
		 struct hcp_err *err)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};
	struct zlib lib = {0};
	int said;

	if (len == 0)
		return hcp_fail(err, HCP_E_INVALID, "it is empty");
	if (len > UINT32_MAX)
		return hcp_fail(err, HCP_E_LIMIT, "it is over 4G");
	if (load(&lib, err) < 0)
		return -1;
	if (lib.begin(&z, GZIP_ONLY, ZLIB_VERSION, (int)sizeof(z)) != Z_OK)
		return hcp_fail_nomem(err);
	said = unpack(&lib, &z, limit, out, err);
	lib.end(&z);
	return said == -1 ? -1 : judge(said, &z, err);
}
