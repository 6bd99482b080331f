/* SPDX-License-Identifier: MIT */
/* The one symbol of hcp-http.so. */
#include "face/http/server.h"

#define TEXT(n)    #n
#define VERSION(n) TEXT(n)

extern const struct http_module hcp_http_module;
HCP_API const struct http_module hcp_http_module = {
    VERSION(HCP_VERSION_MAJOR) "." VERSION(HCP_VERSION_MINOR) "." VERSION(HCP_VERSION_PATCH),
    http_run,
};
