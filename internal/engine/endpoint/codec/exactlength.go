package codec

import "encoding/json"

// exactLength returns the members that make a server generate as many tokens as
// requested, if it is to and a length is requested: ignore_eos, and the minimum under
// the name that the API has for it (vLLM and SGLang documentation, "Sampling
// parameters").
func exactLength(r *Request, minimum string) []Field {
	if !r.Settings.ExactLength || r.Turn.MaxTokens <= 0 {
		return nil
	}
	return []Field{{"ignore_eos", json.RawMessage("true")}, {minimum, AppendMax(r.Turn.MaxTokens)}}
}

// setExactLength sets the members that the user's do not replace.
func (b *Body) setExactLength(r *Request) {
	for _, f := range exactLength(r, "min_tokens") {
		if b.Get(f.Name) == nil {
			b.Set(f.Name, f.Value)
		}
	}
}

// ForceLength adds the members to the object, before the user's are merged.
func (n *Wrapped) ForceLength(r *Request, minimum string) {
	n.Inner = append(n.Inner, exactLength(r, minimum)...)
}
