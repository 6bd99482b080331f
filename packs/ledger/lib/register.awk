# SPDX-License-Identifier: MIT
# `hledger register -O json`: [[date, date2, description, posting, running amounts], ...], where only
# the first posting of a transaction carries its date and description. $limit keeps the newest.

BEGIN { limit = ENVIRON["limit"] + 0 }

function scalar(path, key, text) {
	if (amount_part(path, key, text) || text == "null")
		return
	if (key == "paccount")
		account = text
	else if (key == "ptransaction_")
		transaction = text
	else if (key == "0" && path ~ /^[0-9]+$/)
		date = text
	else if (key == "2" && path ~ /^[0-9]+$/)
		description = text
}

function closed(path) {
	if (path ~ /^[0-9]+\.3\.pamount\.[0-9]+$/) {
		moved = moved (moved == "" ? "" : ",") amount(path)
	} else if (path ~ /^[0-9]+\.4\.[0-9]+$/) {
		running = running (running == "" ? "" : ",") amount(path)
	} else if (path ~ /^[0-9]+$/) {
		gsub(/"/, "", transaction)
		rows[++count] = "{\"transaction\":" transaction ",\"date\":" date ",\"description\":" description \
			",\"account\":" account ",\"amounts\":[" moved "],\"balance\":[" running "]}"
		moved = running = ""
		if (limit)
			delete rows[count - limit]
	} else if (path == "") {
		whole = 1
	}
}

END {
	if (broken || !whole)
		exit 1
	from = limit && count > limit ? count - limit : 0
	printf "{\"postings\":["
	for (i = from + 1; i <= count; i++)
		printf "%s%s", (i > from + 1 ? "," : ""), rows[i]
	printf "],\"omitted\":%d}\n", from
}
