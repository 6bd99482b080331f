/* SPDX-License-Identifier: MIT */
/* hcp completion: a script for a shell, which asks the command itself what may follow. What it
 * is told comes from packs, so no shell ever evaluates it: bash quotes it, zsh and fish do. */
#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/link.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* `=`, `:` and `@` are words of their own to bash, and only what follows the last is replaced.
 */
static const char bash[] =
    "_hcp() {\n"
    "\tlocal -a words=()\n"
    "\tlocal i line word='' glue='' cut=''\n"
    "\tfor ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "\t\tif [[ -n $glue || ( ${COMP_WORDS[i]} =~ ^[=:@]+$ && ${#words[@]} -gt 0 ) ]]; then\n"
    "\t\t\twords[-1]+=${COMP_WORDS[i]}\n"
    "\t\telse\n"
    "\t\t\twords+=(\"${COMP_WORDS[i]}\")\n"
    "\t\tfi\n"
    "\t\tglue=''\n"
    "\t\t[[ ${COMP_WORDS[i]} =~ ^[=:@]+$ ]] && glue=1\n"
    "\tdone\n"
    "\twords=(\"${words[@]//\\\\/}\")\n"
    "\tword=${words[-1]}\n"
    "\t[[ $word =~ ^.*[=:@] ]] && cut=${BASH_REMATCH[0]}\n"
    "\tCOMPREPLY=()\n"
    "\twhile IFS= read -r line; do\n"
    "\t\tline=${line%%$'\\t'*}\n"
    "\t\tCOMPREPLY+=(\"$(printf %q \"${line#\"$cut\"}\")\")\n"
    "\tdone < <(\"${COMP_WORDS[0]}\" " COMPLETE " \"${words[@]}\" 2>/dev/null)\n"
    "\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
    "}\n"
    "complete -o default -F _hcp hcp";

/* As a file of zsh's own functions it is the body of _hcp, which must then be called. */
static const char zsh[] =
    "#compdef hcp\n"
    "_hcp() {\n"
    "\tlocal line\n"
    "\tlocal -a names shown no\n"
    "\tfor line in \"${(@f)$(${(Q)words[1]} " COMPLETE " \"${(@Q)words[2,CURRENT]}\" "
    "2>/dev/null)}\"; do\n"
    "\t\t[[ -n $line ]] || continue\n"
    "\t\tnames+=(\"${line%%$'\\t'*}\")\n"
    "\t\tshown+=(\"${line/$'\\t'/  -- }\")\n"
    "\tdone\n"
    "\tif (( $#names )); then\n"
    "\t\t[[ $names[1] == *= ]] && no=(-S '')\n"
    "\t\tcompadd \"${no[@]}\" -l -d shown -a names\n"
    "\telse\n"
    "\t\t_files\n"
    "\tfi\n"
    "}\n"
    "compdef _hcp hcp";

static const char fish[] = "function __hcp_complete\n"
			   "\tset -l words (commandline -opc) (commandline -ct)\n"
			   "\tcommand $words[1] " COMPLETE " $words[2..-1] 2>/dev/null\n"
			   "end\n"
			   "for name in hcp";

struct listing {
	struct arena arena;
	int count;
};

static void list_one(struct listing *l, int dirfd, const char *name)
{
	struct link_file link;
	struct hcp_err err = {0};
	struct stat st;

	/* a program is longer, and needn't be opened */
	if (!name_is_id(name) || fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_size > 8192)
		return;
	if (link_read(dirfd, name, &l->arena, &link, &err) > 0)
		printf(" %s", name);
}

static int list_folder(void *user, const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		list_one(user, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return 0;
}

/* The links that PATH finds now: a name is letters, digits, ".", "_" and "-", safe in a script.
 */
static void list_links(void)
{
	struct listing l = {0};
	const char *path = getenv("PATH");

	link_each_folder(path ? path : "", list_folder, &l);
	arena_free(&l.arena);
}

int cmd_completion(struct cli *c)
{
	const char *shell = c->argc == 1 ? c->argv[0] : "";
	const char *script = !strcmp(shell, "bash")   ? bash
			     : !strcmp(shell, "zsh")  ? zsh
			     : !strcmp(shell, "fish") ? fish
						      : NULL;

	if (!script)
		return cli_usage(cli_verb_of(cmd_completion), "bash, zsh or fish");
	fputs(script, stdout);
	list_links();
	puts(script == fish  ? "\n\tcomplete -c $name -f -a '(__hcp_complete)'\nend"
	     : script == zsh ? "\nif [[ $funcstack[1] == _hcp ]]; then _hcp; fi"
			     : "");
	return 0;
}
