package codec

// setLengthHint sets the length of the answer for NVIDIA Dynamo, if a length is
// requested: nvext.agent_hints.osl (Dynamo documentation, "NVIDIA request
// extensions"). A length of the user's stays, and an nvext or hints of the user's
// that are no objects stay as they are.
func (b *Body) setLengthHint(r *Request) {
	if !r.Settings.LengthHint || r.Turn.MaxTokens <= 0 {
		return
	}
	const extension, hints, length = "nvext", "agent_hints", "osl"
	nvext, ok := members(b.Get(extension))
	if !ok {
		return
	}
	inner := Body{Fields: nvext}
	given, ok := members(inner.Get(hints))
	if !ok {
		return
	}
	hint := Body{Fields: given}
	if hint.Get(length) != nil {
		return
	}
	hint.Set(length, AppendMax(r.Turn.MaxTokens))
	inner.Set(hints, AppendObject(nil, hint.Fields))
	b.Set(extension, AppendObject(nil, inner.Fields))
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
