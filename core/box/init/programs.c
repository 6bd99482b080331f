/* SPDX-License-Identifier: MIT */
/* With an `exec:` list only the program and what the list names may be executed. What the
 * kernel executes on their behalf must be, too: the interpreter that a "#!" line or an ELF
 * header asks for, which is looked up here as the kernel does it. What an interpreter starts in
 * turn (`env`) must stand in the list. */
#include "box/init/init.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>

#define HEAD_SIZE 1024
#define CHAIN_MAX 6 /* the kernel gives up on scripts of scripts at 5 */
#define PHDR_MAX  64
#define NAME_SIZE 512

struct head {
	char bytes[HEAD_SIZE + 1];
	size_t len;
};

static void allow_execute(long ruleset, long fd, const char *path)
{
	struct landlock_path_beneath_attr attr = {.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE,
						  .parent_fd = (int)fd};

	need(
	    BOX_LAYER_LANDLOCK,
	    sys4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, SYS_PTR(&attr), 0),
	    path);
}

/* The interpreter of a "#!" line: the first word. */
static int script_interpreter(const struct head *h, char *out)
{
	const char *p = h->bytes + 2;
	size_t n = 0;

	while (*p == ' ' || *p == '\t')
		p++;
	while (p[n] && p[n] != ' ' && p[n] != '\t' && p[n] != '\n' && n < NAME_SIZE - 1) {
		out[n] = p[n];
		n++;
	}
	out[n] = '\0';
	return n > 0;
}

static int elf_interpreter(long fd, const struct head *h, char *out)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)h->bytes;
	Elf64_Phdr ph;
	long n;

	if (h->len < sizeof(*elf) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_phentsize != sizeof(ph))
		return 0;
	for (unsigned i = 0; i < elf->e_phnum && i < PHDR_MAX; i++) {
		n = sys4(SYS_pread64, fd, SYS_PTR(&ph), sizeof(ph),
			 (long)(elf->e_phoff + i * sizeof(ph)));
		if (n != (long)sizeof(ph))
			return 0;
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz == 0 || ph.p_filesz >= NAME_SIZE)
			return 0;
		n = sys4(SYS_pread64, fd, SYS_PTR(out), (long)ph.p_filesz, (long)ph.p_offset);
		if (n != (long)ph.p_filesz)
			return 0;
		out[n] = '\0';
		return 1;
	}
	return 0;
}

/* 1 with the interpreter's path in out. A file that can't be read has none that we know of;
 * then its exec is refused, not let through. */
static int find_interpreter(const char *path, char *out)
{
	struct head h = {.len = 0};
	long fd = sys_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	long n;
	int found = 0;

	if (fd < 0)
		return 0;
	n = sys3(SYS_read, fd, SYS_PTR(h.bytes), HEAD_SIZE);
	h.len = n > 0 ? (size_t)n : 0;
	if (h.len >= 2 && h.bytes[0] == '#' && h.bytes[1] == '!')
		found = script_interpreter(&h, out);
	else if (h.len >= SELFMAG && h.bytes[0] == ELFMAG0 && h.bytes[1] == ELFMAG1 &&
		 h.bytes[2] == ELFMAG2 && h.bytes[3] == ELFMAG3)
		found = elf_interpreter(fd, &h, out);
	sys_close(fd);
	return found;
}

/* A program that is not there can't be executed either: only its absence is passed over. */
static void allow_program(long ruleset, const char *path)
{
	char a[NAME_SIZE], b[NAME_SIZE], *next = a, *swap = b, *tmp;
	long fd;

	for (int depth = 0; depth < CHAIN_MAX; depth++) {
		fd = sys_open(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
		if (fd == -ENOENT || fd == -ENOTDIR)
			return;
		need(BOX_LAYER_LANDLOCK, fd, path);
		allow_execute(ruleset, fd, path);
		sys_close(fd);
		if (!find_interpreter(path, next))
			return;
		path = next;
		tmp = next;
		next = swap;
		swap = tmp;
	}
}

void allow_programs(struct box_init *s, long ruleset)
{
	const uint32_t *exec = (const uint32_t *)(const void *)(s->base + s->plan->exec);

	allow_program(ruleset, text_at(s, s->plan->bin));
	for (uint32_t i = 0; i < s->plan->exec_count; i++)
		allow_program(ruleset, text_at(s, exec[i]));
}
