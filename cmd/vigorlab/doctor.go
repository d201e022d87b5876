package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/parts"
)

func newDoctor(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which optional parts this machine has, and how to get the others",
		Long: `doctor looks for the programs, libraries and folders that some of vigorlab needs and
a machine may lack, and says what each is for and what brings it. Nothing that
computes needs any of them. It installs nothing, and a part that is missing is no
error: the exit code is 0.`,
		Example: `  # what is here, and what is not
  vigorlab doctor

  # the same for a script
  vigorlab doctor --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			found := parts.Look(cmd.Context())
			if err := context.Cause(cmd.Context()); err != nil {
				return err
			}
			return describeMachine(parts.Here(), found).print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

// A doctorDocument says what a machine has.
type doctorDocument struct {
	output.Header
	Machine machineDocument `json:"machine"`
	Parts   []partDocument  `json:"parts"`
}

type machineDocument struct {
	Platform string `json:"platform"`
	Cores    int    `json:"cores"`
	Memory   *int64 `json:"memory_bytes"`
	Reason   string `json:"reason,omitempty"`
}

type partDocument struct {
	Part      string  `json:"part"`
	Here      bool    `json:"here"`
	Version   *string `json:"version"`
	Reason    string  `json:"reason,omitempty"`
	Needed    string  `json:"needed_by"`
	For       string  `json:"for"`
	Debian    string  `json:"debian"`
	Elsewhere string  `json:"elsewhere"`
}

type partRow struct {
	Part      string `parquet:"part"`
	Here      bool   `parquet:"here"`
	Version   string `parquet:"version"`
	Needed    string `parquet:"needed_by"`
	For       string `parquet:"for"`
	Debian    string `parquet:"debian"`
	Elsewhere string `parquet:"elsewhere"`
	Reason    string `parquet:"reason"`
}

func describeMachine(m parts.Machine, found []parts.Finding) result[partRow] {
	d := doctorDocument{Header: header("doctor"), Machine: machineDocument{
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: m.Cores,
	}}
	if m.Memory > 0 {
		d.Machine.Memory = &m.Memory
	} else {
		d.Machine.Reason = "this system does not say how much memory it has"
	}
	var rows []partRow
	for _, f := range found {
		row := partRow{
			Part: f.Name, Here: f.Err == nil, Version: f.Version, Needed: f.Needed, For: f.For,
			Debian: f.Debian, Elsewhere: f.Elsewhere, Reason: missingReason(f),
		}
		rows = append(rows, row)
		d.Parts = append(d.Parts, partDocument{
			row.Part, row.Here, orNull(row.Version), row.Reason, row.Needed, row.For, row.Debian, row.Elsewhere,
		})
	}
	return result[partRow]{d, rows, func(t *output.Text) { doctorText(t, d.Machine, rows) }}
}

// missingReason says why a part has no version, or what is missing.
func missingReason(f parts.Finding) string {
	switch {
	case f.Err != nil:
		return f.Err.Error()
	case f.Version == "":
		return "it does not say a version"
	}
	return ""
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func doctorText(t *output.Text, m machineDocument, rows []partRow) {
	t.Command("vigorlab doctor")
	t.Blank()
	cores := fmt.Sprintf("%d cores", m.Cores)
	if m.Cores == 1 {
		cores = "1 core"
	}
	t.Line("vigorlab " + version + " on " + m.Platform + ", " + cores + ", " + memoryText(m.Memory))
	t.Heading("Here")
	for _, r := range rows {
		if r.Here {
			t.Note(fmt.Sprintf("  %-15s  ", r.Part), strings.TrimPrefix(r.Version+"; "+r.For, "; "))
		}
	}
	missingText(t, "Not here", rows, parts.Using)
	missingText(t, "Not here, and for tests and benchmarks alone", rows, parts.Tests)
	t.Blank()
	t.Note("", "Nothing that computes needs any of these. Tests skip what a part is missing for, and name it.")
}

// memoryText prints bytes as gigabytes.
func memoryText(bytes *int64) string {
	if bytes == nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%.1f GB of memory", float64(*bytes)/1e9)
}

func missingText(t *output.Text, title string, rows []partRow, needed string) {
	first := true
	for _, r := range rows {
		if r.Here || r.Needed != needed {
			continue
		}
		if first {
			t.Heading(title)
			first = false
		}
		t.Note("  ", r.Part+": "+r.For)
		t.Note("      ", r.Reason)
		if r.Debian != "" {
			t.Note("      ", "Debian: apt-get install "+r.Debian)
		}
		t.Note("      ", "elsewhere: "+r.Elsewhere)
	}
}
