# SPDX-License-Identifier: MIT
# A line an account, as JSON.

BEGIN {
	for (i = 1; i < 32; i++)
		escape[sprintf("%c", i)] = sprintf("\\u%04x", i)
	escape["\""] = "\\\""
	escape["\\"] = "\\\\"
	printf "{\"accounts\":["
}

function quoted(text, out, c) {
	out = ""
	while (match(text, /["\\\001-\037]/)) {
		c = substr(text, RSTART, 1)
		out = out substr(text, 1, RSTART - 1) escape[c]
		text = substr(text, RSTART + 1)
	}
	return "\"" out text "\""
}

$0 != "" { printf "%s%s", (count++ ? "," : ""), quoted($0) }

END { print "]}" }
