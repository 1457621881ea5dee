package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/plan"
)

// capacityUsage is the help of the command.
const capacityUsage = `Find the largest load at which a share of the requests meets objectives.

Usage: aiperfd capacity [FILE] --slo OBJECTIVE [flags]

The command probes one load after another, each with a warm-up, a window and new
prompts, and estimates the capacity with a 95 % interval from all probes. An
error, a time-out and an arrival that is never sent miss the objectives. With
--control rate, latencies count from when a request was due.

Examples:
  # requests per second at which 95 % have their first token within 500 ms
  aiperfd capacity --url localhost:8000 --streaming --isl 512 --osl 128 \
    --slo "ttft<500" --range 0.5,200
  # concurrent requests at which 99 % are complete within 10 s
  aiperfd capacity --url localhost:8000 --streaming --control concurrency \
    --slo "request_latency<10000" --target 0.99 --range 1,256

Flags of this command:
  --slo OBJECTIVE          what a good request meets: METRIC<LIMIT, or
                           METRIC>LIMIT if more is better, in the unit of the
                           metric; may be given several times
  --target SHARE           share of the requests that must be good (0.95)
  --control KIND           what is varied: rate (default) or concurrency
  --range LOW,HIGH         levels of load to search (1,1000)
  --start LEVEL            first level after LOW; doubled from there (twice LOW)
  --precision SHARE        half the width of the interval at which the search
                           ends (0.05)
  --probe-warmup DURATION  least time at the load before a window (10s)
  --budget-probes N        probes at most (40)
  --budget-time DURATION   time of load at most, as 30m or 3600 (1h)
  --strict-answer          exit with 5 if the capacity is not bounded on both
                           sides, or not known

All flags of aiperfd profile are accepted too, for example --benchmark-duration,
the least length of a window (120 s). FILE is a benchmark document; one with a
sweep of planner capacity needs no flags. docs/how-much-load.md explains the
answer.
`

func newCapacityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                "capacity [FILE] [flags]",
		Short:              "Find the largest load at which the objectives are met",
		Long:               capacityUsage,
		SuggestFor:         []string{"goodput", "saturate"},
		DisableFlagParsing: true, // the flags have the grammar of profile
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				_, err := io.WriteString(cmd.OutOrStdout(), capacityUsage)
				return err
			}
			if len(args) == 0 {
				_, err := io.WriteString(cmd.ErrOrStderr(), capacityUsage)
				return errors.Join(err, exitWith(exitUsage, errors.New("no flags; give at least --url and --slo")))
			}
			args, strict := withoutFlag(args, strictAnswer)
			translated, err := capacityArguments(args)
			if err != nil {
				return exitWith(exitUsage, err)
			}
			c, err := readCommand(translated, nil)
			if err != nil {
				return err
			}
			c.strict = strict
			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
			choices := plan.Choices()
			words, _ := flags.Complete(&choices, before, word)
			for _, name := range append(capacityFlags(), strictAnswer) {
				if strings.HasPrefix(name, word) && word != "" {
					words = append(words, name)
				}
			}
			return words, cobra.ShellCompDirectiveDefault // FILE
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), capacityUsage) })
	return cmd
}

// capacityFlags are the flags that profile does not have, or has with another meaning.
func capacityFlags() []string {
	return []string{
		"--slo", "--target", "--control", "--range", "--start", "--precision", "--probe-warmup", "--budget-probes",
		"--budget-time",
	}
}

// strictAnswer is the flag of commands whose answer may stay open.
const strictAnswer = "--strict-answer"

// withoutFlag returns arguments without a flag that has no value, and whether it was among them.
func withoutFlag(args []string, name string) (others []string, given bool) {
	others = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == name })
	return others, len(others) < len(args)
}

// capacityArguments translates a command line to one of profile, with a recipe. A document that
// has a sweep of its own gets none.
func capacityArguments(args []string) ([]string, error) {
	given, out, problems := splitFlags(args, capacityFlags())
	if len(out) > 0 && !strings.HasPrefix(out[0], "-") { // the document
		text, err := os.ReadFile(out[0])
		if err != nil {
			problems = append(problems, err.Error())
		}
		out = append([]string{"--config"}, out...)
		if len(given) == 0 && sweepMember().Match(text) {
			return out, joinProblems(problems)
		}
	}
	recipe, wrong := capacityRecipe(given)
	return append(out, recipe...), joinProblems(append(problems, wrong...))
}

// sweepMember matches a document that has a sweep, in YAML or JSON.
func sweepMember() *regexp.Regexp { return regexp.MustCompile(`(?m)(^|[{,]\s*)"?sweep"?\s*:`) }

// splitFlags separates the flags of a command, each with a value, from those of profile.
func splitFlags(args, own []string) (given map[string][]string, others, problems []string) {
	given = make(map[string][]string)
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if !slices.Contains(own, name) {
			others = append(others, args[i])
			continue
		}
		if !joined {
			if i++; i == len(args) {
				problems = append(problems, name+": needs a value")
				continue
			}
			value = args[i]
		}
		given[name] = append(given[name], value)
	}
	return given, others, problems
}

// capacityRecipe returns the options of profile that the flags of the command stand for.
func capacityRecipe(given map[string][]string) (out, problems []string) {
	last := func(name, otherwise string) string {
		if list := given[name]; len(list) > 0 {
			return list[len(list)-1]
		}
		return otherwise
	}
	axis := last("--control", "rate")
	if axis != "rate" && axis != "concurrency" {
		problems = append(problems, fmt.Sprintf("--control: must be rate or concurrency, not %q", axis))
	}
	out = append(out, "--search-recipe", "max-"+axis+"-under-sla", "--search-style", "capacity")
	if text := last("--range", ""); text != "" {
		low, high, ok := strings.Cut(text, ",")
		if !ok {
			problems = append(problems, fmt.Sprintf("--range: must be LOW,HIGH, for example 1,200, not %q", text))
		}
		out = append(out, "--"+axis+"-min", strings.TrimSpace(low), "--"+axis+"-max", strings.TrimSpace(high))
	}
	for _, pair := range [][2]string{
		{"--target", "--slo-attainment-fraction"}, {"--start", "--search-start"}, {"--precision", "--search-precision"},
		{"--budget-probes", "--search-max-iterations"},
	} {
		if value := last(pair[0], ""); value != "" {
			out = append(out, pair[1], value)
		}
	}
	for _, pair := range [][2]string{
		{"--budget-time", "--search-max-load-seconds"}, {"--probe-warmup", "--search-warmup-seconds"},
	} {
		text := last(pair[0], "")
		if text == "" {
			continue
		}
		seconds, err := loadSeconds(text)
		if err != nil {
			problems = append(problems, pair[0]+": "+err.Error())
		}
		out = append(out, pair[1], seconds)
	}
	var objectives []string
	for _, text := range given["--slo"] {
		objective, err := requestObjective(text)
		if err != nil {
			problems = append(problems, "--slo: "+err.Error())
		}
		objectives = append(objectives, objective)
	}
	if len(objectives) > 0 {
		out = append(out, "--goodput", strings.Join(objectives, " "))
	}
	return out, problems
}

// joinProblems returns one error for all problems; nil for none.
func joinProblems(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}

// loadSeconds reads a duration, or a number of seconds.
func loadSeconds(text string) (string, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return "", fmt.Errorf("must be a duration such as 30m, not %q", text)
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64), nil
}

// requestObjective reads METRIC<LIMIT and returns the notation of --goodput. The unit is that of the
// metric, and may be written behind the limit.
func requestObjective(text string) (string, error) {
	i := strings.IndexAny(text, "<>")
	if i < 1 {
		return "", fmt.Errorf("must be METRIC<LIMIT, for example time_to_first_token<500, not %q", text)
	}
	name := strings.TrimSpace(text[:i])
	if strings.ContainsAny(name, "( )") {
		return "", fmt.Errorf("%q is about all requests together; give the limit of one, for example ttft<500, and --target", text)
	}
	limit := strings.TrimSpace(strings.TrimPrefix(text[i+1:], "="))
	def, known := catalogue.Lookup(name)
	if known {
		limit = strings.TrimSpace(strings.TrimSuffix(limit, def.Unit))
	} else {
		limit = strings.TrimSuffix(limit, "ms")
	}
	if _, err := strconv.ParseFloat(limit, 64); err != nil {
		return "", fmt.Errorf("the limit of %s must be a number in the unit of the metric, not %q", name, limit)
	}
	if larger := known && def.Flags&catalogue.LargerIsBetter != 0; larger != (text[i] == '>') {
		sign := map[bool]string{true: ">", false: "<"}[larger]
		return "", fmt.Errorf("%s: a limit of this metric is written with %s", text, sign)
	}
	return name + ":" + limit, nil
}
