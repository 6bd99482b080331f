/* SPDX-License-Identifier: MIT */
/* Sockets by family. Whether an address is reached is tried elsewhere: what can't be made
 * reaches nothing. */
#include "attempt.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIND(family, type, protocol)                                                           \
	((long)(family) | (long)(type) << 8 | (long)(protocol) << 16)
#define MPTCP 262

static long do_socket(long kind)
{
	return result(socket((int)(kind & 0xff), (int)(kind >> 8 & 0xff), (int)(kind >> 16)));
}

/* The kernel looks at the lower half of the family alone. */
static long do_high(long family)
{
	return result(syscall(SYS_socket, family | 1l << 32, SOCK_STREAM, 0));
}

static long do_pair(long family)
{
	int ends[2];

	return result(socketpair((int)family, SOCK_STREAM, 0, ends));
}

const struct attempt attempt_sockets[] = {
    {"AF_UNIX stream", do_socket, KIND(AF_UNIX, SOCK_STREAM, 0)},
    {"AF_UNIX datagram", do_socket, KIND(AF_UNIX, SOCK_DGRAM, 0)},
    {"AF_UNIX pair", do_pair, AF_UNIX},
    {"AF_INET TCP", do_socket, KIND(AF_INET, SOCK_STREAM, 0)},
    {"AF_INET UDP", do_socket, KIND(AF_INET, SOCK_DGRAM, 0)},
    {"AF_INET ping", do_socket, KIND(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)},
    {"AF_INET raw", do_socket, KIND(AF_INET, SOCK_RAW, IPPROTO_ICMP)},
    {"AF_INET SCTP", do_socket, KIND(AF_INET, SOCK_STREAM, IPPROTO_SCTP)},
    {"AF_INET MPTCP", do_socket, KIND(AF_INET, SOCK_STREAM, MPTCP)},
    {"AF_INET high bits", do_high, AF_INET},
    {"AF_INET pair", do_pair, AF_INET},
    {"AF_INET6 TCP", do_socket, KIND(AF_INET6, SOCK_STREAM, 0)},
    {"AF_INET6 UDP", do_socket, KIND(AF_INET6, SOCK_DGRAM, 0)},
    {"AF_INET6 MPTCP", do_socket, KIND(AF_INET6, SOCK_STREAM, MPTCP)},
    {"AF_NETLINK route", do_socket, KIND(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)},
    {"AF_NETLINK diag", do_socket, KIND(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG)},
    {"AF_NETLINK uevent", do_socket, KIND(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)},
    {"AF_PACKET", do_socket, KIND(AF_PACKET, SOCK_RAW, 0)},
    {"AF_VSOCK", do_socket, KIND(AF_VSOCK, SOCK_STREAM, 0)},
    {"AF_VSOCK high bits", do_high, AF_VSOCK},
    {"AF_ALG", do_socket, KIND(AF_ALG, SOCK_SEQPACKET, 0)},
    {"AF_KEY", do_socket, KIND(AF_KEY, SOCK_RAW, 2)},
    {"AF_BLUETOOTH", do_socket, KIND(AF_BLUETOOTH, SOCK_RAW, 1)},
    {"AF_CAN", do_socket, KIND(AF_CAN, SOCK_RAW, 1)},
    {"AF_TIPC", do_socket, KIND(AF_TIPC, SOCK_RDM, 0)},
    {"AF_TIPC pair", do_pair, AF_TIPC},
    {"AF_RDS", do_socket, KIND(AF_RDS, SOCK_SEQPACKET, 0)},
    {"AF_SMC", do_socket, KIND(43, SOCK_STREAM, 0)},
    {"AF_XDP", do_socket, KIND(44, SOCK_RAW, 0)},
    {0},
};
