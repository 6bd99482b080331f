-- A lease of HashiCorp Vault (or OpenBao) for each run, revoked when it has ended: any engine that gives leases.
--   mint: { hook: policies:vault, ttl: 1h, env: [DB_USER, DB_PASSWORD] }                      in the pack
--   mint: { hosts: ["vault.example.com:8200"], secrets: [vault_id], with: {
--     address: "https://vault.example.com:8200", role_id: 3f…, secret_id: vault_id, path: database/creds/reader,
--     env: { DB_USER: username, DB_PASSWORD: password } } }
--                                                                in the operator's block for the pack
-- It logs in by AppRole, or with the secret that `token` names. Its Vault policy needs read on the path and update on
-- sys/leases/revoke; an AppRole's token_ttl must outlast a run, since a lease ends with the token that took it.

local configured = require "lib.config"
local refusal = require "lib.refusal"

local known = {
	address = "string", path = "string", env = "table", token = "string?", role_id = "string?",
	secret_id = "string?", namespace = "string?",
}

local function ask(host, config, token, method, path, more)
	local request = more or {}
	request.method, request.url = method, config.address .. "/v1/" .. path
	request.headers = { ["X-Vault-Request"] = "true", ["X-Vault-Token"] = token, ["X-Vault-Namespace"] = config.namespace }
	return host.http(request)
end

local function enter(host, config)
	if config.token and not config.role_id and not config.secret_id then
		return host.secret(config.token)
	elseif config.token or not config.role_id or not config.secret_id then
		hcp.fail("mint.with: either token, or role_id and secret_id")
	end
	local login = { role_id = config.role_id, secret_id = host.secret(config.secret_id) }
	local answer = ask(host, config, nil, "POST", "auth/approle/login",
		{ json = login, secrets = { "auth.client_token" } })
	local auth = type(answer.json) == "table" and answer.json.auth
	if answer.status ~= 200 or type(auth) ~= "table" or not auth.client_token then
		hcp.fail(select(2, refusal("Vault's login", answer)))
	end
	return auth.client_token
end

local function mint(_, host)
	local config, secrets, env = configured(host.config, known), {}, {}
	for _, field in pairs(config.env) do
		secrets[#secrets + 1] = "data." .. field
	end
	local answer = ask(host, config, enter(host, config), "GET", config.path, { secrets = secrets })
	local json = type(answer.json) == "table" and answer.json or {}
	if answer.status ~= 200 or type(json.data) ~= "table" then
		return refusal("Vault", answer)
	end
	if type(json.lease_id) ~= "string" or json.lease_id == "" then
		return nil, "Vault gives no lease for that path"
	end
	for name, field in pairs(config.env) do
		env[name] = json.data[field]
	end
	return { env = env, expires_in = json.lease_duration, id = json.lease_id }
end

local function revoke(binding, host)
	local config = configured(host.config, known)
	local token = enter(host, config)
	local answer = ask(host, config, token, "PUT", "sys/leases/revoke", { json = { lease_id = binding.id, sync = true } })
	if not config.token then
		ask(host, config, token, "PUT", "auth/token/revoke-self")
	end
	if answer.status ~= 204 and answer.status ~= 200 then
		return refusal("Vault", answer)
	end
	return true
end

return { mint = mint, revoke = revoke }
