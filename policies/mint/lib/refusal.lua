-- What a hook says of an answer that isn't the one it needs. Only a word of the server's own gets into it: prose of a
-- stranger is nothing for whoever reads our errors.

return function(who, answer, word)
	word = type(word) == "string" and #word <= 64 and word:match("^[%w_.-]+$")
	return nil, ("%s answers with status %d%s"):format(who, answer.status, word and ": " .. word or "")
end
