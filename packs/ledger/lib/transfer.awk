# SPDX-License-Identifier: MIT
# `hledger print -O json`: prints what the newest transaction says, where that is to the letter the
# transfer that the environment holds; else nothing. The newest is the last of the file, which has
# the highest tindex; included files count, too.

# The text of a JSON string; what can't be in a value that check.awk passed stays as it is.
function plain(text, out, c) {
	text = substr(text, 2, length(text) - 2)
	out = ""
	while (match(text, /\\(u00[0-7][0-9a-fA-F]|.)/)) {
		c = substr(text, RSTART + 1, 1)
		if (c == "u" && RLENGTH == 6)
			c = sprintf("%c", 16 * substr(text, RSTART + 4, 1) + index("123456789abcdef", \
				tolower(substr(text, RSTART + 5, 1))))
		out = out substr(text, 1, RSTART - 1) c
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}

# Kept under its path within the transaction.
function scalar(path, key, text) {
	if (!amount_part(path, key, text)) {
		path = path "." key
		sub(/^[0-9]+\./, "", path)
		got[path] = text
	}
}

function closed(path, key) {
	if (path == "")
		whole = 1
	if (path ~ /^[0-9]+\.tpostings\.[0-9]+$/)
		postings++
	if (path ~ /^[0-9]+\.tpostings\.[0-9]+\.pamount\.[0-9]+$/)
		amounts++
	if (path !~ /^[0-9]+$/)
		return
	if (got["tindex"] + 0 > newest) {
		newest = got["tindex"] + 0
		result = same() ? answer() : ""
	}
	for (key in got)
		delete got[key]
	for (key in mantissa)
		delete mantissa[key]
	postings = amounts = 0
}

function posting(n, account, sign, money) {
	money = here ".tpostings." n ".pamount.0"
	return plain(got["tpostings." n ".paccount"]) == account &&
		quantity(money) == sign ENVIRON["amount"] &&
		plain(commodity[money]) == ENVIRON["meant"] &&
		got["tpostings." n ".ptype"] == "\"RegularPosting\"" &&
		got["tpostings." n ".pbalanceassertion"] == "null" &&
		got["tpostings." n ".pcomment"] == "\"\""
}

function same() {
	return postings == 2 && amounts == 2 && plain(got["tdate"]) == ENVIRON["date"] &&
		plain(got["tdescription"]) == ENVIRON["description"] && got["tcode"] == "\"\"" &&
		posting(0, ENVIRON["to"], "") && posting(1, ENVIRON["from"], "-")
}

function answer() {
	return sprintf("{\"transaction\":%d,\"date\":%s,\"description\":%s,\"from\":%s,\"to\":%s,\"amount\":%s}", newest,
		got["tdate"], got["tdescription"], got["tpostings.1.paccount"], got["tpostings.0.paccount"],
		amount(here ".tpostings.0.pamount.0"))
}

END {
	if (broken || !whole)
		exit 1
	if (result != "")
		print result
}
