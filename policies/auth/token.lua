-- Bearer tokens that the operator handed out. The policy holds their SHA-256 and nothing that
-- opens a door:
--   auth: { when: { token: true }, provider: token, with: { tokens: [
--     { sha256: "…", id: "svc:ci", roles: [clerk], expires_at: "2027-01-01T00:00:00Z" } ] } }
-- A token must be random (32 bytes of it): the hash of one that can be guessed can be guessed.

local fields = {
	sha256 = "string", id = "string", tenant = "string", project_id = "string",
	expires_at = "string", tenants = "table", projects = "table", roles = "table",
}

local function check(entry, n, seen)
	for key, value in pairs(entry) do
		assert(type(value) == fields[key], ("token %d: %s"):format(n, key))
	end
	assert(entry.id, ("token %d: it has no id"):format(n))
	assert(entry.sha256 and entry.sha256:match("^[0-9a-f]+$") and #entry.sha256 == 64,
		("token %d: sha256 must be 64 hexadecimal digits in lower case"):format(n))
	assert(not seen[entry.sha256], ("token %d: its sha256 stands twice"):format(n))
	seen[entry.sha256] = true
end

return function(request, host)
	local tokens = host.config and host.config.tokens
	assert(type(tokens) == "table", "the policy gives no list of tokens")
	local seen = {}
	for n, entry in ipairs(tokens) do
		check(entry, n, seen)
	end
	if not request.token then
		return nil, "a token is required"
	end
	local sum, found = host.hex(host.sha256(request.token)), nil
	-- all are compared, each in constant time: how long it takes tells nothing of the list
	for _, entry in ipairs(tokens) do
		if host.equal(entry.sha256, sum) then
			found = entry
		end
	end
	if not found then
		return nil, "unknown token"
	end
	return {
		id = found.id, tenant = found.tenant, tenants = found.tenants, roles = found.roles,
		project_id = found.project_id, projects = found.projects,
		expires_at = found.expires_at and host.parse_time(found.expires_at),
	}
end
