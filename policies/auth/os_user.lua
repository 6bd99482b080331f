-- The user whom the kernel vouches for: who runs the process, or who is at the socket's other
-- end. A uid that has no name is a principal all the same.

return function(request)
	local peer = request.peer
	if not peer then
		return nil, "no peer that the kernel vouches for"
	end
	if peer.user then
		return { id = "user:" .. peer.user }
	end
	return { id = "uid:" .. peer.uid }
end
