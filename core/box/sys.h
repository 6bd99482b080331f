/* SPDX-License-Identifier: MIT */
/* System calls with nothing in between: no errno, no cancellation point, no allocation, no
 * libc. The child that shares the host's memory may do nothing else (it must not touch state
 * that the host's threads hold), and the init is linked without a C library because starting
 * one costs more than everything the init does. Results are the kernel's: -errno on failure.
 */
#ifndef HCP_BOX_SYS_H
#define HCP_BOX_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

/* Inlined whatever the options: a clone that shares the stack must not return from a call. */
#define SYS_CALL static inline __attribute__((always_inline))

#if defined(__x86_64__)
SYS_CALL long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
SYS_CALL long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "the sandbox knows the system call convention of x86-64 and arm64 only"
#endif

SYS_CALL long sys5(long nr, long a, long b, long c, long d, long e)
{
	return sys6(nr, a, b, c, d, e, 0);
}
SYS_CALL long sys4(long nr, long a, long b, long c, long d)
{
	return sys6(nr, a, b, c, d, 0, 0);
}
SYS_CALL long sys3(long nr, long a, long b, long c)
{
	return sys6(nr, a, b, c, 0, 0, 0);
}
SYS_CALL long sys2(long nr, long a, long b)
{
	return sys6(nr, a, b, 0, 0, 0, 0);
}
SYS_CALL long sys1(long nr, long a)
{
	return sys6(nr, a, 0, 0, 0, 0, 0);
}
/* A pointer as the kernel takes it. */
#define SYS_PTR(p) ((long)(uintptr_t)(p))

#endif
