/* SPDX-License-Identifier: MIT */
/* A program's stderr while it runs, for whoever asked for it. It is told by whole lines, since
 * a secret holds no control character: cut anywhere else, half of one would be taken for
 * ordinary text. */
#include "exec/wrap.h"

#define LINE_LIMIT 16384

static int tell(struct wrap_stream *s)
{
	const struct run *r = s->r;
	AUTO_BUF safe = {0};
	int rc = 0;

	if (s->over)
		buf_printf(&safe, "[a line of more than %d bytes]", LINE_LIMIT);
	else if (s->line.len)
		redact_text(&r->redact, s->line.data, s->line.len, &safe);
	if (safe.len && !safe.failed)
		rc = r->call->stream(r->call->stream_user, (hcp_str){safe.data, safe.len});
	s->line.len = 0;
	s->over = false;
	return rc;
}

int wrap_stream_take(void *user, int which, const char *data, size_t len)
{
	struct wrap_stream *s = user;
	int rc = 0;

	if (which != 2)
		return 0;
	for (size_t i = 0; rc == 0 && i < len; i++) {
		/* a carriage return ends what a progress bar writes over */
		if (data[i] == '\n' || data[i] == '\r')
			rc = tell(s);
		else if (s->line.len < LINE_LIMIT)
			buf_putc(&s->line, data[i]);
		else
			s->over = true;
	}
	/* a line that isn't whole can't be told */
	return s->line.failed ? -1 : rc;
}

void wrap_stream_end(struct wrap_stream *s)
{
	/* the run is over: nobody can cancel it any more */
	if (!s->line.failed && (s->line.len || s->over) && tell(s))
		s->over = false;
	buf_free(&s->line);
}
