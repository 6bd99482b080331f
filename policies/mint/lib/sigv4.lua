-- AWS Signature Version 4 of one request, as its Authorization header. `request` has method, path and query as they
-- are sent and already in canonical form, headers with names in lower case (host and x-amz-date among them) and a
-- body; `key` has id, secret (a handle), region and service.

local function canonical_headers(headers)
	local names, lines = {}, {}
	for name in pairs(headers) do
		names[#names + 1] = name
	end
	table.sort(names)
	for _, name in ipairs(names) do
		lines[#lines + 1] = name .. ":" .. headers[name]:gsub("^ +", ""):gsub(" +$", ""):gsub(" +", " ") .. "\n"
	end
	return table.concat(lines), table.concat(names, ";")
end

local function signing_key(host, key, date)
	local k = host.concat("AWS4", key.secret)
	for _, part in ipairs { date, key.region, key.service, "aws4_request" } do
		k = host.hmac_sha256(k, part, "handle")
	end
	return k
end

return function(host, request, key)
	local time = request.headers["x-amz-date"]
	local date = time:sub(1, 8)
	local lines, names = canonical_headers(request.headers)
	local canonical = table.concat({ request.method, request.path, request.query, lines, names,
		host.hex(host.sha256(request.body)) }, "\n")
	local scope = table.concat({ date, key.region, key.service, "aws4_request" }, "/")
	local text = table.concat({ "AWS4-HMAC-SHA256", time, scope, host.hex(host.sha256(canonical)) }, "\n")
	local signature = host.hex(host.hmac_sha256(signing_key(host, key, date), text))
	return ("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(key.id, scope, names, signature)
end
