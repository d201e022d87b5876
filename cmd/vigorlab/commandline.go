package main

import (
	"fmt"
	"strings"

	"vigorlab/cmd/vigorlab/internal/notation"
)

// A commandLine is the normalised command that reproduces a run.
type commandLine struct{ words []string }

func newCommandLine(command string) *commandLine {
	return &commandLine{[]string{"vigorlab", command}}
}

// add appends a flag with its value.
func (l *commandLine) add(flag string, value any) {
	l.words = append(l.words, "--"+flag, quote(fmt.Sprint(value)))
}

// argument appends a word that is no flag.
func (l *commandLine) argument(word string) { l.words = append(l.words, quote(word)) }

// mark appends a flag without a value.
func (l *commandLine) mark(flag string) { l.words = append(l.words, "--"+flag) }

func (l *commandLine) String() string { return strings.Join(l.words, " ") }

// quote returns a word as a POSIX shell reads it.
func quote(word string) string { return notation.Word(word) }
