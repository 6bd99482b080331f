/* SPDX-License-Identifier: MIT */
/* What a lint found: errors, which refuse runs; warnings, which are probably not meant; notes,
 * which are worth knowing. */
#ifndef HCP_RUNTIME_PROBLEMS_H
#define HCP_RUNTIME_PROBLEMS_H

#include "runtime/runtime.h"

struct problems {
	struct conf_faults errors, warnings, notes;
};
void problems_warn(struct problems *p, const char *file, int line, const char *fmt, ...)
    HCP_PRINTF(4, 5);
void problems_note(struct problems *p, const char *file, int line, const char *fmt, ...)
    HCP_PRINTF(4, 5);
/* A pack should not live on what was granted for another. */
void problems_of_capabilities(struct problems *p, const struct pack *pack);
/* A ttl that no Binding of the hook can keep. */
void problems_of_mint(struct problems *p, const struct pack *pack);
/* {"ok", "problems": [{level, file, line, column, text}]}; ok where there is no error. NULL:
 * out of memory. */
hcp_result *problems_result(const struct problems *p);
void problems_free(struct problems *p);

#endif
