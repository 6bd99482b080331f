/* SPDX-License-Identifier: MIT */
/* The only symbol that hcp-net.so shows. */
#include "net/module/module.h"

extern const struct net_module hcp_net_module;
__attribute__((visibility("default")))
const struct net_module hcp_net_module = {NET_MODULE_VERSION, net_http, net_sign, net_verify};
