package notation

import "testing"

func TestWord(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"beta:a=0.1,b=0.3", "beta:a=0.1,b=0.3"},
		{"mixture:0.3@beta:a=2,b=6+0.7@uniform", "mixture:0.3@beta:a=2,b=6+0.7@uniform"},
		{"atoms:path=two atoms.csv", "'atoms:path=two atoms.csv'"},
		{"it's", `'it'\''s'`},
		{"", "''"},
		{"$(rm)", "'$(rm)'"},
		{"$HOME", "'$HOME'"},
		{"é", "'é'"},
		{"a\nb", "'a\nb'"},
	} {
		if got := Word(c.word); got != c.want {
			t.Errorf("Word(%q) = %s, want %s", c.word, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	if got := Number(nil); got != Absent {
		t.Errorf("no number prints as %s, want %s", got, Absent)
	}
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"},
		{8, "8"},
		{7.999999999999985, "8"},
		{1.9583, "1.958"},
		{0.96875, "0.9688"},
		{1234.5, "1234"}, // half to even
		{0.00001234, "1.234e-05"},
		{2.5e9, "2.5e+09"},
		{-0.5, "-0.5000"},
	} {
		if got := Number(&c.x); got != c.want {
			t.Errorf("Number(%v) = %s, want %s", c.x, got, c.want)
		}
	}
}
