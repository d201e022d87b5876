package reward_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vigorlab/sim/reward"
)

// TestMath checks where an answer is looked for; sim/reward/formula has the table
// of what is equal.
func TestMath(t *testing.T) {
	const r, w, c = reward.Right, reward.Wrong, reward.CannotTell
	try(t, "math", []trial{
		{`So \boxed{\frac{1}{2}}.`, "0.5", r},
		{`\boxed{1}, no: \boxed{\frac{1}{2}}`, "0.5", r},
		{`\boxed{\frac{1}{2}}, no: \boxed{1}`, "0.5", w},
		{`\boxed{\{1,\frac{1}{2}\}}`, `\{\frac{1}{2},1\}`, r},
		{`\boxed {7}`, "7", r},
		{`\fbox{7}`, "7", r},
		{`\boxed{7} and \boxed{8`, "7", r}, // the last complete box
		{`\boxed{\boxed{7}}`, "7", r},
		{`\boxed{so \boxed{7} at last}`, "7", r},   // the inner one
		{`The answer is 8. So \boxed{7}.`, "7", r}, // a box goes first
		{"3+4=7\n#### 7", "7", r},
		{"#### 7\nThe answer is 8", "7", r},
		{"7", "3+4=7\n#### 7", r},
		{"7", `It follows that \boxed{7}`, r},
		{"The answer is 7.", "7", r},
		{"The final answer is: $7$. It is prime.", "7", r},
		{"Answer: 7", "7", r},
		{"**Answer:** 7", "7", r},
		{"the answer is 7 because 3+4=7", "7", r},
		{"the answer is $\\frac{1}{2}$, as 2 is prime", "1/2", r},
		{"the answer is:\n\\[\\frac{1}{2}\\]\nDone.", "1/2", r},
		{"the answer is\n$$\\frac{1}{2}$$", "1/2", r},
		{"the answer is 12 apples in all", "12", r},
		{"the answer is (1, 2)", "(1,2)", r},
		{"the answer is 6, no, the answer is 7", "7", r},
		{"Adding,\nx = 3 + 4 = 7", "7", r},
		{"Adding,\nwe get $3+4=7$", "7", r},
		{"We add.\n7", "7", r},
		{"We add and get = 7", "7", r},
		{"<think>3, no 7</think><answer>7</answer>", "7", r},
		{"<answer>6</answer>, no: <answer> $7$ </answer> The answer is 8.", "7", r},
		{`<answer>So \boxed{7}.</answer>`, "7", r},
		{"<think>the answer is 3</think> 7", "7", r},
		{"<think>the answer is 7</think>", "7", c},
		{"The answers are 1 and 7.", "7, 1", r},
		{"8", "7", w},
		{"", "7", w},
		{" \n ", "7", w},
		{"I do not know", "7", c},
		{"The answer is unclear", "7", c},
		{"7", "", c},
		{"7", `\int_0^1 x\,dx`, c},
		{`\boxed{}`, "7", w},
		{"yes", "Yes", r},
	})
	try(t, "math:tolerance=0.01", []trial{{"3.14", `\pi`, r}, {"3.2", `\pi`, w}})
}

// TestFlipLaw checks by Hoeffding's inequality, in a false alarm rate of 1e-6
// over all cases, how often rewards are turned round; a q that is off by
// 2·tol = 0.08 is missed with the same rate a case.
func TestFlipLaw(t *testing.T) {
	const n = 5_000
	qs := []float64{0, 0.05, 0.5, 0.9, 1}
	tol := math.Sqrt(math.Log(2*float64(2*len(qs))/1e-6) / (2 * n))
	for _, q := range qs {
		v := parse(t, fmt.Sprintf("flip:q=%v@exact", q))
		for completion, share := range map[string]float64{"7": 1 - q, "8": q} {
			sum := 0.
			for i := range n {
				sum += grade(t, v, reward.Item{Prompt: "3+4", Completion: completion, Answer: "7", Index: uint64(i)}).Reward
			}
			if got := sum / n; !(math.Abs(got-share) < tol) {
				t.Errorf("q = %v: %q is rewarded at a rate of %v, want %v ± %.3f", q, completion, got, share, tol)
			}
		}
	}
}

// TestFlipRepeats checks what a turn depends on: seed, prompt, completion and
// index, and nothing else.
func TestFlipRepeats(t *testing.T) {
	turns := func(spec string, change func(*reward.Item)) string {
		v := parse(t, spec)
		var b strings.Builder
		for i := range 200 {
			item := reward.Item{Prompt: "p", Completion: "c", Answer: "a", Index: uint64(i)}
			change(&item)
			fmt.Fprint(&b, grade(t, v, item).Reward)
		}
		return b.String()
	}
	same := func(*reward.Item) {}
	base := turns("flip:q=0.5@exact", same)
	if !strings.Contains(base, "0") || !strings.Contains(base, "1") {
		t.Fatalf("turns %s", base)
	}
	for name, again := range map[string]string{
		"a second verifier": turns("flip:q=0.5,seed=1@exact", same),
		"another answer":    turns("flip:q=0.5@exact", func(i *reward.Item) { i.Answer = "b" }),
	} {
		if again != base {
			t.Errorf("%s: %s, want %s", name, again, base)
		}
	}
	for name, other := range map[string]string{
		"another seed":       turns("flip:q=0.5,seed=2@exact", same),
		"another prompt":     turns("flip:q=0.5@exact", func(i *reward.Item) { i.Prompt = "q" }),
		"another completion": turns("flip:q=0.5@exact", func(i *reward.Item) { i.Completion = "d" }),
		"other indexes":      turns("flip:q=0.5@exact", func(i *reward.Item) { i.Index += 1000 }),
	} {
		if other == base {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// TestFlipOfFlip nests: two turns with certainty are none.
func TestFlipOfFlip(t *testing.T) {
	try(t, "flip:q=1@flip:q=1@exact", []trial{{"7", "7", reward.Right}, {"8", "7", reward.Wrong}})
	try(t, "flip:q=1@numeric", []trial{{"7", "7", reward.Wrong}, {"8", "7", reward.Right}, {"2^3", "7", reward.Right}})
}

// TestFlipOfCannotTell: what cannot be told is a reward of 0, and turned as one, as
// theory and simulations take it.
func TestFlipOfCannotTell(t *testing.T) {
	for spec, want := range map[string]float64{"flip:q=1@math": 1, "flip:q=0@math": 0} {
		if g := grade(t, parse(t, spec), reward.Item{Completion: "7"}); g.Reward != want {
			t.Errorf("%s of what cannot be told: %+v, want reward %v", spec, g, want)
		}
	}
}
