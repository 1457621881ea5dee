package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/plan"
)

// Models is the result of comparing the models of a run with the lists of the servers.
type Models struct {
	Plan     *plan.Plan   // for the model of the server if none was given; otherwise the same plan
	Context  bench.Tokens // the shortest context of the models; 0 = unknown
	Warnings []bench.Warning
}

// Resolve compares the models of the plan with those that the servers list. If the
// plan names no model, it takes the only one that the first server lists, and fails if
// there are more or none. A model that is not listed is only a warning, because
// gateways hide models.
func (s *Servers) Resolve(ctx context.Context) (*Models, error) {
	out := &Models{}
	for i := range s.plan.Targets {
		if s.plan.Kind.Job != nil && len(s.plan.Models.Names) > 0 {
			continue // APIs of jobs do not list models
		}
		t := &s.plan.Targets[i]
		all, whole, _, err := s.models(ctx, t)
		if len(s.plan.Models.Names) == 0 {
			if err := s.takeOnly(t, all, err); err != nil {
				return nil, err
			}
		}
		if err == nil { // otherwise the load will show whether the model is there
			out.compare(s, &s.plan.Targets[i], all, whole)
		}
	}
	out.Plan = s.plan
	return out, nil
}

// compare compares the models of the plan with those of one server.
func (m *Models) compare(s *Servers, t *plan.Target, all []listed, whole bool) {
	for _, name := range s.plan.Models.Names {
		at := slices.IndexFunc(all, func(l listed) bool { return l.name == name })
		switch {
		case at < 0 && whole:
			m.Warnings = append(m.Warnings, bench.Warning{
				Code: "model-not-listed", Detail: fmt.Sprintf("%s does not list the model %q; it lists %s", t.Shown, name, s.names(all)),
			})
		case at >= 0 && all[at].context > 0 && (m.Context == 0 || all[at].context < m.Context):
			m.Context = all[at].context
		}
	}
}

// takeOnly replaces the plan by that for the only model of a list.
func (s *Servers) takeOnly(t *plan.Target, all []listed, err error) error {
	const want = "no model is given"
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the models of %s cannot be listed: %w; name one with --model", want, t.Shown, err)
	case len(all) != 1:
		return fmt.Errorf("%s, and %s lists %d: %s; name one with --model", want, t.Shown, len(all), s.names(all))
	}
	resolved, err := s.plan.WithModel(all[0].name)
	if err != nil {
		return fmt.Errorf("use the model %q of %s: %w", all[0].name, t.Shown, err)
	}
	s.plan = resolved
	return nil
}

// listed is one model of a server's list.
type listed struct {
	name    string
	context bench.Tokens // its context length; 0 = unknown
}

// modelList is the response to GET /v1/models, of OpenAI, vLLM, SGLang and
// llama.cpp.
type modelList struct {
	Data []struct {
		ID          string       `json:"id"`
		MaxModelLen bench.Tokens `json:"max_model_len"` // vLLM, SGLang
		Meta        struct {
			Context bench.Tokens `json:"n_ctx_train"` // llama.cpp
		} `json:"meta"`
	} `json:"data"`
	HasMore bool `json:"has_more"` // Anthropic: one page of several
}

// errNoList means that the server has no list of models.
var errNoList = errors.New("the server does not list models")

// models returns the models that a server lists. whole reports whether these are
// all. The reply is never nil. The error is errNoList if the server has no list.
func (s *Servers) models(ctx context.Context, t *plan.Target) (all []listed, whole bool, r *reply, err error) {
	u, ok := t.ModelList()
	if !ok {
		return nil, false, &reply{}, errNoList
	}
	r = s.do(ctx, &call{target: t, method: http.MethodGet, url: u, timeout: plan.CallTimeout})
	switch {
	case r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed || r.status == http.StatusNotImplemented:
		return nil, false, r, errNoList
	case !r.ok():
		return nil, false, r, errors.New(r.reason)
	}
	var list modelList
	if json.Unmarshal(r.body, &list) != nil || list.Data == nil {
		return nil, false, r, errors.New("the response is not a list of models")
	}
	for _, m := range list.Data {
		if len(m.ID) > schema.MaxName {
			return nil, false, r, fmt.Errorf("the name of a model has %d bytes, at most %d are accepted", len(m.ID), schema.MaxName)
		}
		all = append(all, listed{name: m.ID, context: max(m.MaxModelLen, m.Meta.Context)})
	}
	return all, !list.HasMore, r, nil
}

// names returns the names of models for messages, redacted.
func (s *Servers) names(all []listed) string {
	const most = 20
	var names []string
	for i, m := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		names = append(names, s.opts.Secrets.String(m.name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
