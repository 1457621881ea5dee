package endpoint

// setLengthHint tells NVIDIA Dynamo how long the answer will be, where a length is
// asked for: nvext.agent_hints.osl (Dynamo documentation, "NVIDIA request
// extensions"). What the user says there stays, and an nvext or hints of the user's
// that are no objects stay as they are.
func (b *body) setLengthHint(r *Request) {
	if !r.Settings.LengthHint || r.Turn.MaxTokens <= 0 {
		return
	}
	const extension, hints, length = "nvext", "agent_hints", "osl"
	nvext, ok := members(b.get(extension))
	if !ok {
		return
	}
	inner := body{fields: nvext}
	given, ok := members(inner.get(hints))
	if !ok {
		return
	}
	hint := body{fields: given}
	if hint.get(length) != nil {
		return
	}
	hint.set(length, appendMax(r.Turn.MaxTokens))
	inner.set(hints, appendObject(nil, hint.fields))
	b.set(extension, appendObject(nil, inner.fields))
}

// members returns the members of an object, none if there is no value. ok = false
// when the value is something else.
func members(value []byte) (fields []Field, ok bool) {
	if value == nil {
		return nil, true
	}
	fields, err := Fields(value)
	return fields, err == nil
}
