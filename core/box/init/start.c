/* SPDX-License-Identifier: MIT */
/* Where the init begins, without a C library: the entry point and the few functions that a
 * compiler takes for granted. */
#include "box/init/init.h"

#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call init_main\n"
	"	hlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, xzr\n"
	"	mov x30, xzr\n"
	"	bl init_main\n"
	"	brk #0\n");
#endif

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if (t <= f)
		return memcpy(to, from, n);
	while (n--)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	unsigned char *t = to;

	while (n--)
		*t++ = (unsigned char)c;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n--; x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

size_t text_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}
