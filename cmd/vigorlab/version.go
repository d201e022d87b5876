package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
)

func newVersion(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  vigorlab version
  vigorlab version --format json`,
		RunE: func(*cobra.Command, []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			return describeVersion().print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

// A versionDocument says which binary this is.
type versionDocument struct {
	output.Header
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Revision *string `json:"revision"`
	Reason   string  `json:"reason,omitempty"`
}

type versionRow struct {
	Version  string `parquet:"version"`
	Go       string `parquet:"go"`
	Platform string `parquet:"platform"`
	Revision string `parquet:"revision"`
}

func describeVersion() result[versionRow] {
	d := versionDocument{
		Header: header("version"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Reason: "built without version control information",
	}
	row := versionRow{Version: d.Version, Go: d.Go, Platform: d.Platform}
	if revision := sourceRevision(); revision != "" {
		d.Revision, d.Reason, row.Revision = &revision, "", revision
	}
	return result[versionRow]{d, []versionRow{row}, func(t *output.Text) {
		line := "vigorlab " + d.Version
		if row.Revision != "" {
			line += " (" + row.Revision + ")"
		}
		t.Line(line + ", " + d.Go + ", " + d.Platform)
	}}
}

// sourceRevision returns the commit that the binary was built from, marked
// where the tree was modified, or "" where the build does not know.
func sourceRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+modified"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}
