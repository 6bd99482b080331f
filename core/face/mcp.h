/* SPDX-License-Identifier: MIT */
/* An MCP server over a runtime: a tool a command. It offers, asks and tells; whether something
 * runs is the pipeline's to decide, always. */
#ifndef HCP_FACE_MCP_H
#define HCP_FACE_MCP_H

#include "include/hcp.h"

/* Serves one client until `in` ends, `out` is gone or `stop` (an eventfd) is readable; then
 * every run is cancelled and has ended. Runs ask as `as` does. Descriptors are borrowed. -1:
 * memory or descriptors ran out at the start. */
int mcp_serve(hcp_runtime *rt, const hcp_call *as, int in, int out, int stop);

#endif
