package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aiperfd/internal/plot"
)

const plotLong = `Draw the results in PATH as PNG and SVG files, without a browser or a network. A
folder of one run gives plots of that run over time. A folder of a sweep, or
several folders, give plots that compare the runs. The folder of a sweep in the
data directory of a daemon gives those of its runs, whose folders are beside it.
Results of NVIDIA AIPerf are read as well. Without PATH, it is ./artifacts.

Plots of one run:
%s
Plots of several runs:
%s
Plots for which the results have no data are left out, unless --plot names them:
then the command fails. Runs whose client did not keep up are marked; no Pareto
front and no line goes through them.`

func newPlotCommand() *cobra.Command {
	o := plot.Options{Theme: plot.Light}
	theme, formats := "light", []string{"png", "svg"}
	one, several := plot.Describe()
	cmd := &cobra.Command{
		Use:     "plot [PATH]...",
		Short:   "Draw the results of runs and sweeps as PNG and SVG",
		Long:    fmt.Sprintf(plotLong, listPlots(one), listPlots(several)),
		Example: "  aiperfd plot artifacts/run --output pictures\n  aiperfd plot before after --plot latency_vs_throughput --format svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Theme, o.Formats, err = plotChoices(theme, formats); err != nil {
				return exitWith(exitUsage, err)
			}
			o.Paths = args
			if len(args) == 0 {
				o.Paths = []string{"artifacts"}
			}
			out, err := plot.Make(o)
			if err != nil {
				return err
			}
			if len(out.Skipped) > 0 {
				fmt.Fprintf(plainErr(cmd), "left out, for lack of data: %s\n", strings.Join(out.Skipped, ", "))
			}
			for _, file := range out.Files {
				fmt.Fprintln(plainOut(cmd), file)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Output, "output", "", "write the pictures into this `folder` (default plots in the first PATH)")
	fs.StringVar(&theme, "theme", theme, "colours: light or dark")
	fs.StringSliceVar(&formats, "format", formats, "formats of the pictures: png, svg")
	fs.StringSliceVar(&o.Names, "plot", nil, "draw only these plots, by `name`")
	return cmd
}

func listPlots(plots [][2]string) string {
	var out strings.Builder
	for _, p := range plots {
		fmt.Fprintf(&out, "  %s\n      %s\n", p[0], p[1])
	}
	return out.String()
}

// plotChoices checks the values of --theme and --format.
func plotChoices(theme string, formats []string) (plot.Theme, []plot.Format, error) {
	if theme != string(plot.Light) && theme != string(plot.Dark) {
		return "", nil, fmt.Errorf("--theme %q: must be light or dark", theme)
	}
	if len(formats) == 0 {
		return "", nil, fmt.Errorf("--format: must be png, svg or both")
	}
	var list []plot.Format
	for _, f := range formats {
		if f != string(plot.PNG) && f != string(plot.SVG) {
			return "", nil, fmt.Errorf("--format %q: must be png or svg", f)
		}
		list = append(list, plot.Format(f))
	}
	return plot.Theme(theme), list, nil
}
