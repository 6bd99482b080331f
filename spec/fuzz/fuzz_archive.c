/* SPDX-License-Identifier: MIT */
/* Any bytes as an archive of a pack: as they are, unpacked first, and as a tar archive without
 * the compression, which no mutation gets past. Whatever is told of a member lies in the
 * archive. */
#include "base/inflate.h"
#include "base/tar.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT (1 << 20)

static void read_tar(const char *data, size_t len)
{
	struct tar t = {data, len, 0};
	struct tar_member m;
	struct hcp_err err = {0};
	size_t sum = 0;
	int rc;

	while ((rc = tar_next(&t, &m, &err)) > 0) {
		if (t.at > len || m.data < data || m.data + m.size > data + len ||
		    !memchr(m.name, '\0', sizeof(m.name)))
			abort();
		for (size_t i = 0; i < m.size; i++)
			sum += (unsigned char)m.data[i];
	}
	if (rc < 0 && !err.text[0])
		abort();
	if (sum == SIZE_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hcp_err err = {0};
	AUTO_BUF out = {0};
	int rc = inflate_gzip(data, size, LIMIT, &out, &err);

	if (out.len > LIMIT || (rc < 0) != (err.code != HCP_E_NONE))
		abort();
	if (rc == 0)
		read_tar(out.data ? out.data : "", out.len);
	read_tar((const char *)data, size);
	return 0;
}
