package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Usage writes the help text of all options that do something, in AIPerf's
// groups, with their defaults.
func Usage(w io.Writer) error {
	out := bufio.NewWriter(w)
	group := ""
	for _, o := range options() {
		if o.status != supported {
			continue
		}
		if o.group != group {
			group = o.group
			fmt.Fprintf(out, "\n%s\n", group)
		}
		fmt.Fprintf(out, "  %s%s\n", strings.Join(o.spellings(), ", "), placeholder(o))
		fmt.Fprintf(out, "      %s", o.help)
		if o.def != "" {
			fmt.Fprintf(out, " (default: %s)", o.def)
		}
		fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write help: %w", err)
	}
	return nil
}

// placeholder shows what value an option takes.
func placeholder(o option) string {
	switch o.kind {
	case optBool:
		return ""
	case optNumber:
		return " NUMBER"
	case optFile:
		return " PATH"
	case optHeader:
		return " NAME:VALUE"
	case optExtra:
		return " NAME:VALUE|JSON"
	case optGoodput:
		return ` "TAG:NUMBER …"`
	case optList, optWords:
		return " TEXT…"
	}
	return " TEXT"
}
