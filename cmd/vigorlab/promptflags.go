package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vigorlab/sim/source/prompts"
)

// promptFlags say which file has prompts and answers, and where in its records.
type promptFlags struct {
	promptFiles []string
	preset      string
	promptField string
	answerField string
	idField     string
}

// noPreset stands for fields that flags name.
const noPreset = "none"

// registerPrompts adds the flags; what says what the file is for.
func (f *promptFlags) registerPrompts(flags *pflag.FlagSet, c *common, what string) {
	key := func(target *string, name, usage string) {
		flags.Var(&textFlag{target, name, "a key", &c.faults}, name, usage)
	}
	flags.StringArrayVar(&f.promptFiles, "prompts", nil, what+", a `FILE` of .jsonl, .csv or .parquet")
	c.choice(flags, &f.preset, "preset", append([]string{noPreset}, prompts.Presets()...), "`NAME` of a data set whose fields are known")
	key(&f.promptField, "prompt-field", "`KEY` of the prompt, with dots into nested ones (default prompt)")
	key(&f.answerField, "answer-field", "`KEY` of the answer (default answer)")
	key(&f.idField, "id-field", "`KEY` of the prompt's name (default id, or the number of its record)")
}

// readPrompts reads --prompts, with the digest of its bytes.
func (f *promptFlags) readPrompts(ctx context.Context, c *common) (*prompts.Set, string) {
	path, ok := c.once(f.promptFiles, "prompts", "a file of prompts that ends in "+strings.Join(prompts.Extensions(), ", "))
	if !ok {
		return nil, ""
	}
	file, err := opener(ctx)(path)
	if err != nil {
		c.add("--prompts", err)
		return nil, ""
	}
	defer file.Close() // only read
	digest := sha256.New()
	set, err := prompts.Read(io.TeeReader(file, digest), path, f.fields())
	if err != nil {
		c.add("--prompts", err)
		return nil, ""
	}
	return set, fmt.Sprintf("%x", digest.Sum(nil))
}

// fields returns where prompts have what is wanted: the preset's, then the flags'.
func (f *promptFlags) fields() prompts.Fields {
	fields := prompts.DefaultFields()
	if f.preset != noPreset {
		fields, _ = prompts.Preset(f.preset) // a choice among the known ones
	}
	if f.promptField != "" {
		fields.Prompt = prompts.Field{Path: f.promptField, Must: true}
	}
	if f.answerField != "" {
		fields.Answer, fields.Mark, fields.Boxed = prompts.Field{Path: f.answerField, Must: true}, "", false
	}
	if f.idField != "" {
		fields.ID = prompts.Field{Path: f.idField, Must: true}
	}
	return fields
}

// fieldsRead returns the fields as specs of a run have them.
func (f *promptFlags) fieldsRead() []string {
	x := f.fields()
	return []string{x.Prompt.Path, x.Answer.Path, x.ID.Path, x.Mark, strconv.FormatBool(x.Boxed)}
}

// addPrompts adds the flags to a command line.
func (f *promptFlags) addPrompts(l *commandLine) {
	l.add("prompts", f.promptFiles[0])
	l.add("preset", f.preset)
	for _, x := range [][2]string{{"prompt-field", f.promptField}, {"answer-field", f.answerField}, {"id-field", f.idField}} {
		if x[1] != "" {
			l.add(x[0], x[1])
		}
	}
}
