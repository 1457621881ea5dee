package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/plan"
)

// listed is one model of a server's list.
type listed struct {
	name string
	most bench.Tokens // context length; 0 = the server does not say
}

// modelList is the answer of GET /v1/models, in the shapes of OpenAI, vLLM,
// SGLang and llama.cpp.
type modelList struct {
	Data []struct {
		ID          string       `json:"id"`
		MaxModelLen bench.Tokens `json:"max_model_len"` // vLLM, SGLang
		Meta        struct {
			Context bench.Tokens `json:"n_ctx_train"` // llama.cpp
		} `json:"meta"`
	} `json:"data"`
	HasMore bool `json:"has_more"` // Anthropic: a page of several
}

// errNoList is for servers that do not list models.
var errNoList = errors.New("the server does not list models")

// Models asks a server for its models. whole says that there are no more. The
// reply is never nil; the error says why there is no list, and is errNoList where
// the server has none.
func (c *caller) models(ctx context.Context, t *plan.Target) (all []listed, whole bool, r *reply, err error) {
	u, err := beside(t, "/v1/models", false)
	if err != nil {
		return nil, false, &reply{}, err
	}
	r = c.do(ctx, &call{target: t, method: http.MethodGet, url: u, timeout: plan.CallTimeout})
	switch {
	case r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed || r.status == http.StatusNotImplemented:
		return nil, false, r, errNoList
	case !r.ok():
		return nil, false, r, errors.New(c.reason(r))
	}
	var list modelList
	if json.Unmarshal(r.body, &list) != nil || list.Data == nil {
		return nil, false, r, errors.New("the response is not a list of models")
	}
	for _, m := range list.Data {
		all = append(all, listed{name: m.ID, most: max(m.MaxModelLen, m.Meta.Context)})
	}
	return all, !list.HasMore, r, nil
}

// Names lists models for people, redacted.
func (c *caller) names(all []listed) string {
	const most = 20
	var names []string
	for i, m := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		names = append(names, c.x.secrets.String(m.name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// settleModels compares the models of the plan with those that the servers list.
// A plan without a model takes the only one; a model that is not listed is a
// doubt, because gateways hide models.
func (x *execution) settleModels(ctx context.Context, c *caller) error {
	for i := range x.plan.Targets {
		t := &x.plan.Targets[i]
		if x.plan.Kind.Job != nil && len(x.plan.Models.Names) > 0 {
			continue // a queue of work has no list
		}
		all, whole, _, err := c.models(ctx, t)
		if len(x.plan.Models.Names) == 0 {
			if err := x.takeOnly(c, t, all, err); err != nil {
				return err
			}
			t = &x.plan.Targets[i] // compiled again for the model
		}
		if err != nil {
			continue // it is not there yet, or lists nothing: the load will show
		}
		for _, name := range x.plan.Models.Names {
			at := slices.IndexFunc(all, func(m listed) bool { return m.name == name })
			switch {
			case at < 0 && whole:
				x.warn("model-not-listed", fmt.Sprintf("%s does not list the model %q; it lists %s", t.Shown, name, c.names(all)))
			case at >= 0 && all[at].most > 0 && (x.modelLimit == 0 || all[at].most < x.modelLimit):
				x.modelLimit = all[at].most
			}
		}
	}
	return nil
}

// takeOnly resolves the plan for the only model of a list.
func (x *execution) takeOnly(c *caller, t *plan.Target, all []listed, err error) error {
	const want = "no model is given"
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the models of %s cannot be listed: %w; name one with --model", want, t.Shown, err)
	case len(all) != 1:
		return fmt.Errorf("%s, and %s lists %d: %s; name one with --model", want, t.Shown, len(all), c.names(all))
	}
	resolved, err := x.plan.WithModel(all[0].name)
	if err != nil {
		return fmt.Errorf("use the model %q of %s: %w", all[0].name, t.Shown, err)
	}
	x.plan = resolved
	x.notify.modelResolved(resolved)
	return nil
}

// checkLengths warns of conversations that do not fit the model, by some of them.
func (x *execution) checkLengths() {
	const most = 256
	limit := x.modelLimit
	if limit == 0 {
		return
	}
	checked, over, longest := 0, 0, bench.Tokens(0)
	for i := range min(x.data.first.Len(), most) {
		need := x.length(x.data.first.At(i))
		checked++
		longest = max(longest, need)
		if need > limit {
			over++
		}
	}
	if over > 0 {
		x.warn("context-length", fmt.Sprintf(
			"%d of %d conversations checked need more tokens than the context length of %d (max_model_len), up to %d; expect errors or truncated responses",
			over, checked, limit, longest))
	}
}

// length is how many tokens a conversation needs at its end: all texts, and the
// longest answers that are asked for. What nobody has counted does not count.
func (x *execution) length(talk *bench.Conversation) bench.Tokens {
	total := x.tokens.Count(talk.System) + x.tokens.Count(talk.Context)
	longest := bench.Tokens(0)
	for i := range talk.Turns {
		t := &talk.Turns[i]
		input := t.InputTokens
		if input == 0 {
			input = x.tokens.Count(strings.Join(t.Texts, " "))
		}
		if talk.Independent {
			longest = max(longest, total+input+t.MaxTokens)
			continue
		}
		total += input + t.MaxTokens
		longest = total
	}
	return longest
}
