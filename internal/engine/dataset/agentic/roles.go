package agentic

// message is a chat message of a prompt: some of its blocks, and perhaps a tail. Messages of a
// prompt are linked from the last to the first, so that the prompts of a stream share them.
type message struct {
	before   *message // nil = it is the first
	role     string
	from, to int // blocks of the prompt
	tail     int // tokens after the blocks; only the last message of a prompt has some
	turn     int // that the tail belongs to
}

// turnShape is how many tokens of a prompt blocks and what follows them have.
type turnShape struct {
	shared int // blocks in common with the prompt of the turn before
	blocks int // that the prompt has as a whole
	tail   int // tokens after them
}

// shapes returns the shapes of the turns of a stream.
func shapes(s *Stream, block int) []turnShape {
	out := make([]turnShape, len(s.Requests))
	for i := range s.Requests {
		r := &s.Requests[i]
		blocks := min(len(r.blocks), r.In/block)
		out[i] = turnShape{blocks: blocks, tail: r.In - blocks*block}
		if i > 0 {
			out[i].shared = min(common(s.Requests[i-1].blocks, r.blocks), blocks, out[i-1].blocks)
		}
	}
	return out
}

// answerLimits returns, per turn, how many of its new blocks may be an answer at most; -1 = all. A
// later turn that cuts the prompt behind a block, and adds nothing, then ends in a message of the
// user, because the block is in one. The rule is AIPerf's, since it decides the bytes that are sent.
func answerLimits(turns []turnShape) []int {
	limits := make([]int, len(turns))
	for i := range limits {
		limits[i] = -1
	}
	var owner []int // the turn that each block of the prompt came with
	for k, t := range turns {
		owner = owner[:t.shared]
		if k > 0 && t.blocks == t.shared && t.tail == 0 && t.shared > 0 {
			last := t.shared - 1
			if j := owner[last]; j > 0 && last >= turns[j].shared {
				if bound := last - turns[j].shared; limits[j] < 0 || bound < limits[j] {
					limits[j] = bound
				}
			}
		}
		for range t.blocks - t.shared {
			owner = append(owner, k)
		}
	}
	return limits
}

// messagesOf returns the last message of each turn of a stream. What is new in a prompt is first
// the answer to the turn before, as many blocks as it had tokens, and then the user's.
func messagesOf(s *Stream, block int) []*message {
	turns := shapes(s, block)
	limits := answerLimits(turns)
	out := make([]*message, len(turns))
	var last *message
	for k, t := range turns {
		at := t.shared
		if k == 0 {
			if system := min((s.Declared+block-1)/block, t.blocks); system > 0 {
				last, at = &message{role: "system", to: system}, system
			}
		} else {
			last = cutMessages(last, t.shared)
			if answer := answerBlocks(last, s.Requests[k-1].Out, t, limits[k], block); answer > 0 {
				last = &message{before: last, role: "assistant", from: at, to: at + answer}
				at += answer
			}
		}
		if t.blocks > at || t.tail > 0 || last == nil {
			last = &message{before: last, role: "user", from: at, to: t.blocks, tail: t.tail, turn: k}
		}
		out[k] = last
	}
	return out
}

// answerBlocks returns how many of the new blocks of a turn are the answer of so many tokens to
// the turn before. A prompt ends in a message of the user, and begins in one.
func answerBlocks(last *message, tokens int, t turnShape, limit, block int) int {
	spoken := false
	for m := last; m != nil && !spoken; m = m.before {
		spoken = m.role == "user"
	}
	fresh := t.blocks - t.shared
	answer := min((tokens+block-1)/block, fresh)
	if limit >= 0 {
		answer = min(answer, limit)
	}
	switch {
	case !spoken:
		return 0
	case t.tail == 0 && answer == fresh && answer > 0:
		return answer - 1
	}
	return answer
}

// cutMessages returns the last message of a prompt that is cut to so many blocks; nil = it has
// none. What follows the blocks of a message is no part of them.
func cutMessages(last *message, blocks int) *message {
	for last != nil && last.from >= blocks {
		last = last.before
	}
	if last == nil || last.to <= blocks && last.tail == 0 {
		return last
	}
	return &message{before: last.before, role: last.role, from: last.from, to: min(last.to, blocks)}
}

// listed returns the messages of a prompt from the first to the last.
func (m *message) listed() []*message {
	n := 0
	for at := m; at != nil; at = at.before {
		n++
	}
	out := make([]*message, n)
	for at := m; at != nil; at = at.before {
		n--
		out[n] = at
	}
	return out
}
