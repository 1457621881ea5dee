package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
	"aiperfd/internal/engine/redact"
)

// abUsage is the help of the command.
const abUsage = `Say whether one of two servers is faster, by requests that both get.

Usage: aiperfd ab [FILE] --b-url URL [flags]

Every request goes to server A and to server B at the same time, in an order by
chance, so that a change of the load, of the prompts or of the network is one of
both sides (--design mirror). Servers that share hardware take turns with the
same requests (crossover), and if there is no room for double load, each gets
half of the requests (split). The unit of the statistics is a block of time.
After each block from the 30th on the command looks at the answer and stops as
soon as it is known: B is better, worse, or equivalent within the margin. The
chance that anything is called better or worse although both servers are equal
is about 5 %, however often is looked.

Examples:
  aiperfd ab --url http://a:8000 --b-url http://b:8000 --streaming --isl 512 \
    --osl 128 --request-rate 5
  aiperfd ab bench.yaml --b-url http://b:8000 --margin 2% --budget 1h
  aiperfd ab --url http://a:8000 --b-url http://a:8001 --design crossover \
    --cache-bust first_turn_prefix --streaming --isl 512 --osl 128 \
    --request-rate 5

Flags of this command:
  --b-url URL              server B; several with commas between
  --b-model NAME           model that is requested from B (that of A)
  --b-api-key-file FILE    API key for B (that of A)
  --design NAME            mirror, crossover or split (mirror)
  --margin SHARE           change of a latency that counts as none (3%); of the
                           error rate it is 1 point
  --block DURATION         least length of a block, which has 20 pairs or more
                           (5s); of crossover, the length of a turn (30s)
  --budget DURATION        time of load at most (30m; of crossover 2h)
  --strict-answer          exit with 5 if the answer is not decided

All flags of aiperfd profile about the load, the dataset and server A are
accepted too; the load is a rate (--request-rate). B gets what A gets, headers
included. FILE is a benchmark document; one with a sweep of type ab needs no
flags. docs/is-it-faster.md explains the answer.
`

func newABCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                "ab [FILE] [flags]",
		Short:              "Say which of two servers is faster, by requests that both get",
		Long:               abUsage,
		SuggestFor:         []string{"mirror", "duel"},
		DisableFlagParsing: true, // the flags have the grammar of profile
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				_, err := io.WriteString(cmd.OutOrStdout(), abUsage)
				return err
			}
			if len(args) == 0 {
				_, err := io.WriteString(cmd.ErrOrStderr(), abUsage)
				return errors.Join(err, exitWith(exitUsage, errors.New("no flags; give at least --url, --b-url and --request-rate")))
			}
			args, strict := withoutFlag(args, strictAnswer)
			given, others, problems := splitFlags(args, abFlags())
			other, wrong := otherServer(given)
			if err := joinProblems(append(problems, wrong...)); err != nil {
				return exitWith(exitUsage, err)
			}
			if len(others) > 0 && !strings.HasPrefix(others[0], "-") {
				others = append([]string{"--config"}, others...)
			}
			c, err := readCommand(others, other)
			if err != nil {
				return err
			}
			c.strict = strict
			c.line = redact.CommandLine(programName, append([]string{"ab"}, args...), c.flags)
			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
		ValidArgsFunction: func(_ *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
			choices := plan.Choices()
			words, _ := flags.Complete(&choices, before, word)
			for _, name := range append(abFlags(), strictAnswer) {
				if strings.HasPrefix(name, word) && word != "" {
					words = append(words, name)
				}
			}
			return words, cobra.ShellCompDirectiveDefault // FILE
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), abUsage) })
	return cmd
}

// abFlags are the flags that profile does not have.
func abFlags() []string {
	return []string{"--b-url", "--b-model", "--b-api-key-file", "--design", "--margin", "--block", "--budget"}
}

// otherServer returns what the flags of the command say.
func otherServer(given map[string][]string) (o *flags.Other, problems []string) {
	o = new(flags.Other)
	last := func(name string) string {
		if list := given[name]; len(list) > 0 {
			return list[len(list)-1]
		}
		return ""
	}
	for _, text := range given["--b-url"] {
		for u := range strings.SplitSeq(text, ",") {
			if u = strings.TrimSpace(u); u != "" {
				o.URLs = append(o.URLs, u)
			}
		}
	}
	o.Model, o.Design = last("--b-model"), last("--design")
	if name := last("--b-api-key-file"); name != "" {
		key, err := os.ReadFile(name)
		switch o.APIKey = strings.TrimSpace(string(key)); {
		case err != nil:
			problems = append(problems, "--b-api-key-file: "+err.Error())
		case o.APIKey == "":
			problems = append(problems, "--b-api-key-file: the file is empty")
		}
	}
	if text := last("--margin"); text != "" {
		share, err := compare.ParseShare(text)
		if err != nil {
			problems = append(problems, "--margin "+err.Error())
		}
		o.Margin = share
	}
	for name, seconds := range map[string]*float64{"--block": &o.Block, "--budget": &o.Budget} {
		text := last(name)
		if text == "" {
			continue
		}
		number, err := loadSeconds(text)
		if err == nil {
			*seconds, err = strconv.ParseFloat(number, 64)
		}
		if err != nil {
			problems = append(problems, name+": "+err.Error())
		}
	}
	slices.Sort(problems)
	return o, problems
}
