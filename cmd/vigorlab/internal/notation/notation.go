// Package notation holds how figures and words are written, on a terminal and on a
// page alike: a number's digits, a word of a shell. It refuses to know what they
// mean.
package notation

import (
	"math"
	"strconv"
	"strings"
)

// Absent stands for a figure that does not exist.
const Absent = "-"

// Number prints x to four significant digits, or Absent.
func Number(x *float64) string {
	if x == nil {
		return Absent
	}
	return Significant(*x, 4)
}

// Significant prints x with at least the given significant digits, in
// positional notation where that stays short.
func Significant(x float64, digits int) string {
	if math.Abs(x-math.Round(x)) < 1e-12 && math.Abs(x) < 1e9 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	size := math.Abs(x)
	if size < 1e-4 || size >= 1e9 {
		return strconv.FormatFloat(x, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(size))))
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Word returns a word as a POSIX shell reads it.
func Word(word string) string {
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special reports whether a shell may take a character for another than itself.
func special(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && !strings.ContainsRune("_@%+=:,./-", c)
}
