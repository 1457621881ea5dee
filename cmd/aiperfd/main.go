// Command aiperfd benchmarks LLM inference servers; this package has its subcommands,
// their flags and their exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aiperfd/internal/app/terminal"
	"aiperfd/internal/ctl"
)

func main() {
	configureRuntime()
	// net/http writes what servers send: any amount of it, and not redacted.
	log.SetOutput(io.Discard)
	zerolog.TimeFieldFormat = zerolog.TimeFormatUnixMs // seconds would hide the order of events
	os.Exit(execute(context.Background(), os.Args[1:]))
}

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, args []string) int {
	root := newRootCommand() //nolint:contextcheck // the commands get their context from ExecuteContext
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitFailed
	var exit *ctl.ExitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		code, err = exit.Code, exit.Err
	}
	if err != nil {
		terminal.PrintError(root.ErrOrStderr(), err)
	}
	return code
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "aiperfd",
		Short: "Benchmark LLM inference servers",
		Long: `aiperfd benchmarks LLM inference servers: vLLM, SGLang, TensorRT-LLM and every
other server with an OpenAI-compatible API.

aiperfd profile runs one benchmark from the command line, with the flags of
NVIDIA's aiperf profile. aiperfd serve is a daemon: it accepts benchmarks over
HTTP, shows them live and stores their results.`,
		Example: `  aiperfd profile --url localhost:8000 --streaming --concurrency 8
  aiperfd serve
  aiperfd mock --port 8000`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       thisBuild().String(),
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	const width = "80"
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped "+width,
		" for more information about a command.", " for more about a command.", // deep commands have long names
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("aiperfd {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return exitWith(exitUsage, suggestFlag(cmd, err)) })
	root.AddCommand(
		newServeCommand(), newTokenCommand(), newProfileCommand(), newCapacityCommand(), newABCommand(), newMockCommand(), newDemoCommand(), newCertifyCommand(), newWorkerCommand(),
		newConfigCommand(), newValidateCommand(), newAnalyzeCommand(), newTraceCommand(), newScenarioCommand(), newPlotCommand(),
		newCompareCommand(), newGateCommand(), newBaselineCommand(), newReportCommand(), newExportCommand(),
		newBackupCommand(), newRestoreCommand(), newRunsCommand(), ctl.New(version),
		newHealthcheckCommand(), newManCommand(), newVersionCommand(),
	)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = knownTopic
		case "ctl":
			cmd.Args = knownCommand
		}
	}
	usageBelow(root)
	return root
}

// knownTopic rejects help topics that are not commands.
func knownTopic(help *cobra.Command, args []string) error {
	if found, _, _ := help.Root().Find(args); found == help.Root() {
		return knownCommand(found, args)
	}
	return nil
}

// suggestFlag adds a suggestion to the error of an unknown flag: a flag of the
// command that ends in its name, such as --api-port for --port. The flag of an unknown
// command is not the first mistake; the command is.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if before := cmd.Flags().Args(); !cmd.HasParent() && len(before) > 0 {
		return knownCommand(cmd, before)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "-"+unknown.GetSpecifiedName()) {
			err = fmt.Errorf("%w; did you mean --%s?", err, f.Name)
		}
	})
	return err
}

// knownCommand rejects the first argument of the program if it is not a command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	root.SuggestionsMinimumDistance = 2
	near := root.SuggestionsFor(args[0])
	for _, cmd := range root.Commands() {
		if slices.Contains(cmd.SuggestFor, strings.ToLower(args[0])) {
			near = []string{cmd.Name()} // before what is only spelled alike
		}
	}
	if len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	} else {
		text += "; aiperfd --help lists the commands"
	}
	return exitWith(exitUsage, errors.New(text))
}

// The heap may grow to smallHeap bytes before it is collected: a short run ends before
// that. Beyond, it may grow by growth percent between two collections.
const (
	smallHeap = 32 << 20
	growth    = 50
	// startGrowth has the effect of smallHeap before the first collection, for which the
	// runtime takes 4 MiB to be in use.
	startGrowth = 100 * smallHeap / (4 << 20)
)

// configureRuntime configures the Go runtime for measurements. Settings in the
// environment have precedence.
func configureRuntime() {
	if os.Getenv("GOMAXPROCS") == "" {
		spareProcessor()
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startGrowth)
		adjustGC(startGrowth)
	}
}

// spareProcessor raises GOMAXPROCS by one above the processors of the machine or of
// the quota. A goroutine that returns from a wait in the kernel needs a processor
// of the runtime to continue. If goroutines that compute hold all of them, a due
// request waits for the next preemption. With a spare one, the kernel schedules its
// thread within microseconds. ADR 10 has the figures.
func spareProcessor() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }

// adjustGC sets GOGC after every collection, by the size of the live heap; it is set to
// percent. With thousands of streams, memory is the scarce resource, and a large heap is
// collected so rarely that more frequent collections cost little.
func adjustGC(percent int) {
	sentinel := new([16]byte) // unreachable at the next collection
	runtime.AddCleanup(sentinel, func(percent int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		want := growth
		if live[0].Value.Kind() == metrics.KindUint64 {
			want = growthOf(live[0].Value.Uint64())
		}
		if want != percent {
			debug.SetGCPercent(want)
		}
		adjustGC(want)
	}, percent)
}

// growthOf returns by how many percent a heap may grow of which so many bytes are in use.
func growthOf(live uint64) int {
	const least = 1 << 20 // less is never in use
	return max(growth, int(100*smallHeap/max(live, least))-100)
}
