/* SPDX-License-Identifier: MIT */
#ifndef SPEC_ATTEMPT_H
#define SPEC_ATTEMPT_H

struct attempt {
	const char *name;
	long (*run)(long number); /* what the call gave, an errno below 0 */
	long number;              /* for a function that makes several attempts */
};

long result(long r); /* of a call of libc */

/* Each ends with a name that is NULL. */
extern const struct attempt attempt_mounts[];    /* namespaces and the tree of mounts */
extern const struct attempt attempt_processes[]; /* other processes, and terminals */
extern const struct attempt attempt_kernel[];    /* what is everybody's */
extern const struct attempt attempt_sockets[];
extern const struct attempt attempt_ordinary[]; /* what must go on working */

#endif
