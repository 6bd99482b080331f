-- Bearer tokens that are JSON Web Tokens of an OpenID Connect issuer:
--   auth: { when: { token: true }, provider: jwt, hosts: ["idp.example.com:443"], with: {
--     issuer: "https://idp.example.com", audience: hcp, jwks_url: "https://idp.example.com/jwks",
--     claims: { id: sub, tenant: org, projects: projects, roles: groups }, roles: { staff: clerk } } }
-- `claims` says which claim each field of the principal comes from; a dot leads into an object. A field that isn't
-- listed isn't taken, and a claim that is missing is no field. `roles` translates: what it doesn't list is dropped;
-- without it the token's roles are taken as they are.

local fields = {
	id = "string", tenant = "string", project_id = "string", tenants = "table", projects = "table", roles = "table",
}
local known = {
	issuer = "string", audience = true, jwks_url = "string", jwks = "table", algs = "table", leeway = "number",
	claims = "table", roles = "table", prefix = "string",
}

local function check(config)
	assert(config, "the policy says nothing in `with`")
	for key, value in pairs(config) do
		assert(known[key], ("with: unknown key %q"):format(key))
		assert(known[key] == true or type(value) == known[key], ("with: %s must be a %s"):format(key, known[key]))
	end
	assert(config.issuer, "with: issuer is missing")
	assert(config.audience, "with: audience is missing")
	assert(not config.jwks_url ~= not config.jwks, "with: one of jwks_url and jwks is needed")
	for field, claim in pairs(config.claims or {}) do
		assert(fields[field], ("with: claims: no field %q of a principal"):format(field))
		assert(type(claim) == "string", ("with: claims: %s must name a claim"):format(field))
	end
end

local function find(claims, path)
	for name in path:gmatch("[^.]+") do
		claims = type(claims) == "table" and rawget(claims, name) or nil
	end
	return claims
end

-- A claim of another type than its field is refused, never bent.
local function field(claims, name, path)
	local value = find(claims, path)
	if value == nil or value == hcp.null then
		return nil
	end
	assert(type(value) == fields[name], ("claim %s is no %s"):format(path, fields[name] == "table" and "list" or "string"))
	for _, item in ipairs(type(value) == "table" and value or {}) do
		assert(type(item) == "string", ("claim %s is no list of strings"):format(path))
	end
	return value
end

local function translate(roles, map)
	local out = hcp.array {}
	for _, role in ipairs(roles or {}) do
		if not map then
			out[#out + 1] = role
		elseif map[role] then
			out[#out + 1] = map[role]
		end
	end
	return out
end

return function(request, host)
	local config = host.config
	check(config)
	if not request.token then
		return nil, "a token is required"
	end
	local demand = {
		token = request.token, algs = config.algs or { "RS256", "ES256", "EdDSA" },
		jwks = config.jwks or host.jwks(config.jwks_url),
		issuer = config.issuer, audience = config.audience, leeway = config.leeway or 0,
	}
	local claims, why = host.verify_jwt(demand)
	if not claims and why == "no key for the token: unknown kid" and config.jwks_url then
		demand.jwks = host.jwks(config.jwks_url, true) -- the issuer may have a new one
		claims, why = host.verify_jwt(demand)
	end
	if not claims then
		return nil, why
	end
	local map = config.claims or {}
	local id = field(claims, "id", map.id or "sub")
	assert(id and id ~= "", "the token names nobody")
	local out = { id = (config.prefix or "") .. id, expires_at = claims.exp + (config.leeway or 0) }
	for name, path in pairs(map) do
		if name ~= "id" then
			out[name] = field(claims, name, path)
		end
	end
	out.roles = map.roles and translate(out.roles, config.roles) or nil
	return out
end
