-- A secret that doesn't change, as a Binding: for a service that gives out nothing better.
--   mint: { hook: policies:static, ttl: 15m, env: [LEDGER_TOKEN] }        in the pack
--   mint: { secrets: [ledger_token], with: { env: { LEDGER_TOKEN: ledger_token } } }
--                                            in the operator's block for the pack
-- `with.env` says for each name which secret it is. The ttl bounds nothing at the service:
-- whoever sees the value has it until the operator changes it. Prefer a hook that asks for a
-- credential of its own for each run.

return function(request, host)
	local env = host.config and host.config.env
	assert(type(env) == "table", "the policy's `with` gives no env: { NAME: secret }")
	local binding = { env = {}, expires_in = request.ttl }
	for name, secret in pairs(env) do
		assert(type(secret) == "string", ("env.%s must name a secret"):format(name))
		binding.env[name] = host.secret(secret)
	end
	return binding
end
