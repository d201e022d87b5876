package table_test

import (
	"reflect"
	"testing"

	"vigorlab/distributions/table"
)

// TestByPrompt: rows of one prompt come by step, then by visit, and prompts as
// they first appear.
func TestByPrompt(t *testing.T) {
	rows := []table.Row{
		{PromptID: "b", Step: 2, Visit: 1},
		{PromptID: "a", Step: 1, Visit: 5},
		{PromptID: "b", Step: 2, Visit: 0},
		{PromptID: "b", Step: 1, Visit: 9},
	}
	want := [][]table.Row{{rows[3], rows[2], rows[0]}, {rows[1]}}
	if got := (&table.Table{Rows: rows}).ByPrompt(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
