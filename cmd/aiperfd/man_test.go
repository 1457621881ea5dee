package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestManPage(t *testing.T) {
	cmd := &cobra.Command{
		Use: "tool FILE", Short: "Read a file", Run: func(*cobra.Command, []string) {},
		Long: "Read a file.\n.profile and 'quoted' lines and C:\\path are text.\n\n  tool -v x\n\n\ttool y",
	}
	cmd.Flags().BoolP("verbose", "v", false, "say more")
	cmd.Flags().Int("limit", 5, "read `lines` lines")
	cmd.Flags().String("secret", "", "not for people")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	want := `.TH "TOOL" 1 "" "aiperfd dev" "aiperfd manual"
.ad l
.SH NAME
tool \- read a file
.SH SYNOPSIS
.B tool FILE [flags]
.SH DESCRIPTION
Read a file.
\&.profile and 'quoted' lines and C:\epath are text.
.PP
.nf
  tool \-v x
.fi
.PP
.nf
  tool y
.fi
.SH OPTIONS
.TP
.B \-h, \-\-help
help for tool
.TP
.B \-\-limit lines
read lines lines (default: 5)
.TP
.B \-v, \-\-verbose
say more
`
	if diff := cmp.Diff(want, string(manPage(cmd))); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}
