package baselines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config"
	"aiperfd/internal/results"
	"aiperfd/internal/run"
)

// maxRules is the number of rules by which a candidate is judged.
const maxRules = 50

// Promotion is a revision of a baseline whose runs have passed a gate.
type Promotion struct {
	Revision run.Revision       `json:"revision"`
	Answer   compare.GateAnswer `json:"answer"` // of the gate
}

// NewRules returns the numbers of rules of the gate that was judged last for each baseline, by verdict.
func NewRules() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "aiperfd_gate_rules",
		Help: "Rules by which a candidate for the baseline was judged last, by verdict. Absent before the first one since " +
			"the start.",
	}, []string{"gate", "verdict"})
}

// Promote judges runs by rules and, if they pass, makes them the newest revision of a baseline.
//
//	@Summary		Promote runs that pass a gate
//	@Description	The runs are judged by the rules as `aiperfd gate --candidate` judges them, against the newest revision of the baseline that has their workload and target. If they pass, they become the newest revision, as with PUT. If they fail, or that is not decided, nothing changes, and the status is 409. A rule on a change needs such a revision; one on a limit does not. The body has at most 64 KiB.
//	@Tags			baselines
//	@Accept			json
//	@Param			name		path		string				true	"Name of the baseline"
//	@Param			candidate	body		wire.Candidate		true	"Runs, and the rules by which they are judged"
//	@Success		201			{object}	baselines.Promotion
//	@Header			201			{string}	Location	"The revision"
//	@Failure		400,404,409,413,415,503	{object}	wire.Problem
//	@Router			/api/baselines/{name}/promote [post]
func (h *Handler) Promote(w http.ResponseWriter, r *http.Request) error {
	name, err := h.nameOf(r)
	if err != nil {
		return err
	}
	var body wire.Candidate
	if err := respond.ReadJSON(w, r, "a candidate", &body); err != nil {
		return err
	}
	if err := checkRuns(&body.BaselineRuns); err != nil {
		return err
	}
	answer, revision, err := h.judge(r.Context(), name, &wire.Judgement{Runs: body.Runs, Rules: body.Rules})
	if err != nil {
		return err
	}
	if answer.Verdict != compare.Passes {
		return respond.Fail(respond.ErrNotPassed, "Not promoted. %s", strings.Join(answer.Sentences, " "))
	}
	revision.Promoted = true
	added, err := h.add(r.Context(), w, name, revision, body.Note)
	if err != nil {
		return err
	}
	return h.Out.WriteJSON(w, http.StatusCreated, Promotion{Revision: *added, Answer: *answer})
}

// Judge judges runs by rules, and changes no baseline.
//
//	@Summary		Judge runs by rules
//	@Description	The answer to whether the runs may pass: `gate.json` of `aiperfd gate`. They are judged by the rules, against the newest revision of the baseline that has their workload and target. A rule on a change needs such a revision; one on a limit does not. Without looks the runs are judged once; with looks, after so many of them, and whoever measures asks again after each run until the answer is final. The body has at most 64 KiB.
//	@Tags			baselines
//	@Accept			json
//	@Param			name		path		string			true	"Name of the baseline"
//	@Param			judgement	body		wire.Judgement	true	"Runs, and the rules by which they are judged"
//	@Success		200			{object}	compare.GateAnswer
//	@Failure		400,404,413,415,503	{object}	wire.Problem
//	@Router			/api/baselines/{name}/judge [post]
func (h *Handler) Judge(w http.ResponseWriter, r *http.Request) error {
	name, err := h.nameOf(r)
	if err != nil {
		return err
	}
	var body wire.Judgement
	if err := respond.ReadJSON(w, r, "a judgement", &body); err != nil {
		return err
	}
	if err := checkRuns(&wire.BaselineRuns{Runs: body.Runs}); err != nil {
		return err
	}
	answer, _, err := h.judge(r.Context(), name, &body)
	if err != nil {
		return err
	}
	return h.Out.WriteJSON(w, http.StatusOK, answer)
}

// judge answers whether runs may pass, and counts the verdicts. It also returns what they would be as a revision.
func (h *Handler) judge(
	ctx context.Context, name string, body *wire.Judgement,
) (*compare.GateAnswer, run.Revision, error) {
	rules, err := parseRules(body.Rules)
	if err != nil {
		return nil, run.Revision{}, err
	}
	if len(body.Looks) > 0 {
		if err := compare.CheckLooks(body.Looks); err != nil {
			return nil, run.Revision{}, respond.Fail(respond.ErrParameter, "%v", err)
		}
	}
	undecided := compare.OnInconclusive(body.OnInconclusive)
	if !undecided.Known() {
		return nil, run.Revision{}, respond.Fail(respond.ErrParameter, "on_inconclusive is %q, want error, pass or fail",
			body.OnInconclusive)
	}
	revision, err := h.revision(ctx, body.Runs)
	if err != nil {
		return nil, revision, err
	}
	reference, err := h.reference(ctx, name, &revision, rules)
	if err != nil {
		return nil, revision, err
	}
	candidate, err := h.inputs(ctx, revision.Runs)
	if err != nil {
		return nil, revision, err
	}
	gate := compare.Gate{
		Rules: rules, Looks: body.Looks, OnInconclusive: undecided, Baseline: reference, Version: h.Version,
	}
	answer, err := gate.Judge(candidate)
	if err != nil {
		return nil, revision, err
	}
	h.count(name, answer)
	return answer, revision, nil
}

// parseRules reads rules as the command line has them. All problems are returned at once.
func parseRules(texts []string) ([]compare.Rule, error) {
	if n := len(texts); n == 0 || n > maxRules {
		return nil, respond.Fail(respond.ErrParameter, "rules has %d rules, want 1 to %d", n, maxRules)
	}
	var out []compare.Rule
	var faults []string
	for i, text := range texts {
		rule, err := compare.ParseRule(text, config.ObjectiveAliases())
		if err != nil {
			faults = append(faults, fmt.Sprintf("rules[%d]: %v", i, err))
			continue
		}
		out = append(out, rule)
	}
	if faults != nil {
		return nil, respond.Fail(respond.ErrParameter, "%s", strings.Join(faults, "; "))
	}
	return out, nil
}

// reference returns what a candidate is compared with; nil = nothing, and no rule needs it.
func (h *Handler) reference(
	ctx context.Context, name string, candidate *run.Revision, rules []compare.Rule,
) (*compare.Reference, error) {
	found, err := h.Kept.Get(ctx, name)
	if err != nil && !errors.Is(err, run.ErrNoBaseline) {
		return nil, stored(err)
	}
	var oldest, newest *run.Revision
	if err == nil {
		oldest, newest = found.Matching(candidate.Key)
	}
	if newest == nil {
		if slices.ContainsFunc(rules, func(r compare.Rule) bool { return r.MaxRegression != nil }) {
			return nil, respond.Fail(respond.ErrNotFound, "Baseline %s has no revision of this workload and target, "+
				"which rules on changes need", name)
		}
		return nil, nil
	}
	out := &compare.Reference{
		Name: name, Revision: newest.Number, Host: newest.Key.Host,
		Moved: newest.Key.Host != "" && candidate.Key.Host != "" && newest.Key.Host != candidate.Key.Host,
	}
	if out.Runs, err = h.inputs(ctx, newest.Runs); err != nil {
		return nil, fmt.Errorf("read baseline %s@%d: %w", name, newest.Number, err)
	}
	if oldest.Number < newest.Number {
		// What was lost since the first revision is a doubt only; without its runs there is none.
		if first, err := h.inputs(ctx, oldest.Runs); err == nil {
			out.First = first
		}
	}
	return out, nil
}

// inputs returns runs as they are judged.
func (h *Handler) inputs(ctx context.Context, ids []string) ([]compare.Input, error) {
	out := make([]compare.Input, len(ids))
	for i, id := range ids {
		r, err := h.Find.Runs.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		snap, err := h.Find.Snapshot(ctx, r)
		if err != nil {
			return nil, err
		}
		out[i] = compare.Input{Run: r, Snapshot: snap}
	}
	return out, nil
}

// count says how many rules had which verdict.
func (h *Handler) count(name string, a *compare.GateAnswer) {
	for _, verdict := range []results.Verdict{compare.Passes, compare.Fails, compare.Inconclusive, compare.Invalid} {
		n := 0
		for i := range a.Rules {
			if a.Rules[i].Verdict == verdict {
				n++
			}
		}
		h.Rules.WithLabelValues(name, string(verdict)).Set(float64(n))
	}
}
