package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
	"vigorlab/sim/verify"
)

// goneReader is a pipe whose reader has closed it.
type goneReader struct{}

func (goneReader) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestInterruptTellsAll: what went wrong besides an interrupt is not hidden.
func TestInterruptTellsAll(t *testing.T) {
	var stderr strings.Builder
	err := errors.Join(fmt.Errorf("4.noisy: %w", context.Canceled), errors.New("out/run.json: no space left on device"))
	if code := exitCode(&stderr, err); code != exitInterrupted || stderr.String() != "vigorlab: out/run.json: no space left on device\nvigorlab: interrupted\n" {
		t.Errorf("exit code %d with %q", code, &stderr)
	}
}

// TestCaption: what a figure shows, kind by kind, each name once.
func TestCaption(t *testing.T) {
	got := caption([]verify.Curve{
		{Kind: verify.MonteCarlo, Setting: verify.Setting{Population: "uniform", Strategy: "vigor:m0=2,rounds=4", Batch: 16, Replicates: 9}},
		{Kind: verify.MonteCarlo, Setting: verify.Setting{Population: "uniform", Strategy: "fixed:g=8", Batch: 16, Replicates: 9}},
		{Kind: verify.MeanField, Setting: verify.Setting{Population: "uniform", Strategy: "vigor:m0=2,rounds=T"}},
		{Kind: verify.Cap},
	})
	const want = "Exact mean field, the limit of large batches: vigor:rounds=T on uniform; " +
		"Monte Carlo with 95 % intervals, 9 batches of B = 16: vigor and fixed:g=8 on uniform."
	if got != want {
		t.Errorf("caption %q, want %q", got, want)
	}
}

// TestTrainingFigures: which numbers the figures of training runs show, and of
// what their captions say they are.
func TestTrainingFigures(t *testing.T) {
	measured, exact := []verify.Point{{X: .5, Y: 1.5, Low: 1.4, High: 1.6}}, []verify.Point{{X: .5, Y: 1.7}}
	setting := verify.Setting{Population: "uniform", Strategy: "vigor"}
	of := func(figure, family, kind string, p []verify.Point, seeds int) verify.Curve {
		c := verify.Curve{Figure: figure, Family: family, Kind: kind, Points: p, Setting: setting}
		c.Replicates, c.Batch = seeds, 16
		return c
	}
	levels := []verify.Curve{
		of(verify.FigureLevels+"rollout-small", "uniform", verify.MonteCarlo, measured, 6),
		of(verify.FigureLevels+"rollout-small", "uniform", verify.MeanField, exact, 0),
	}
	for _, want := range []string{
		"Losses averaged over rollouts, all strategies at one small learning rate; runs of 6 paired seeds with batches of 16 prompts, ",
		"Dashed: the same of the mean field of training, ", "Populations: uniform.",
	} {
		if got := caption(levels); !strings.Contains(got, want) {
			t.Errorf("caption %q has no %q", got, want)
		}
	}
	families, _ := familiesOf(levels)
	line := levelData(levels[0].Figure, families).Panels[0].Lines[0]
	if line.First[0] != plots.Point(measured[0]) || line.Second[0] != plots.Point(exact[0]) {
		t.Errorf("line %+v", line)
	}
	families, _ = familiesOf([]verify.Curve{of(verify.FigureCalibration+"rollout-small", "path", verify.MonteCarlo, measured, 6)})
	if d := calibrationData("", families); d.Predictors[0].Label != "path" || d.Predictors[0].Cases[0] != plots.Point(measured[0]) {
		t.Errorf("predictors %+v", d.Predictors)
	}
	for _, kind := range verify.TrainingFigures() {
		if _, err := curvesData(kind, levels[:1]).Draw(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestTrainingFiguresSayTheirSlice: no two of a kind have one caption or one
// title of an axis, and all have what they show in words.
func TestTrainingFiguresSayTheirSlice(t *testing.T) {
	captions, titles := map[string]string{}, map[string]string{}
	for _, figure := range verify.TrainingFigures() {
		text := caption([]verify.Curve{{Figure: figure, Kind: verify.MonteCarlo, Setting: verify.Setting{Population: "uniform", Batch: 16, Replicates: 6}}})
		title := calibrationData(figure, nil).Measured
		if strings.HasPrefix(figure, verify.FigureLevels) {
			title = levelData(figure, nil).Panels[0].Y
		}
		for want, has := range map[string]bool{
			"averaged over rollouts": strings.Contains(figure, "rollout-"), "averaged over prompts": strings.Contains(figure, "prompt-"),
			"small": strings.HasSuffix(figure, "-small"), "best": strings.HasSuffix(figure, "-best"),
		} {
			if strings.Contains(text, want) != has || strings.Contains(title, want) != has {
				t.Errorf("%s: %q in caption or title is not %v: %q, %q", figure, want, has, text, title)
			}
		}
		for want, has := range map[string]bool{"Dashed: ": strings.HasPrefix(figure, verify.FigureLevels), "the diagonal": strings.HasPrefix(figure, verify.FigureCalibration)} {
			if strings.Contains(text, want) != has {
				t.Errorf("%s: %q in the caption is not %v: %q", figure, want, has, text)
			}
		}
		if captions[text] != "" || titles[title] != "" {
			t.Errorf("%s has the caption or title of %s%s", figure, captions[text], titles[title])
		}
		captions[text], titles[title] = figure, figure
	}
	if text := ofSlice(verify.FigureSlopes); text != "" {
		t.Errorf("a figure of no training runs says %q", text)
	}
}

// TestWrongLadderFails: Monte Carlo that contradicts an exact computation is
// our error, while a published claim that fails is a result.
func TestWrongLadderFails(t *testing.T) {
	x, se, interval := 1.5, 0.05, [2]float64{1.4, 1.6}
	claim := verify.Row{ID: "2.a", Rung: 2, Kind: verify.Claim, Claim: "published", Estimate: &x, SE: &se, Verdict: verify.Fails}
	check := verify.Row{ID: "2.b", Rung: 2, Kind: verify.Check, Claim: "own", Estimate: &x, Interval: &interval, Verdict: verify.Fails}
	l := &ladder{Report: &verify.Report{Sections: []verify.Section{{Study: "2.x", Rows: []verify.Row{claim}}}}}
	if err := l.wrong(); err != nil {
		t.Errorf("a published claim that fails is an error: %v", err)
	}
	l.Sections[0].Rows = append(l.Sections[0].Rows, check)
	var stderr strings.Builder
	if code := exitCode(&stderr, l.wrong()); code != exitFailed || !strings.Contains(stderr.String(), "2.b: a check of vigorlab itself fails") {
		t.Errorf("exit code %d with %q", code, &stderr)
	}
	stderr.Reset()
	err := errors.Join(l.result().print(&app{stdout: goneReader{}}, formatTable), l.wrong())
	if code := exitCode(&stderr, err); code != exitFailed || !strings.Contains(stderr.String(), "2.b: a check of vigorlab itself fails") {
		t.Errorf("to a reader that has gone: exit code %d with %q", code, &stderr)
	}
	text := &output.Text{Colour: true}
	l.text(text)
	if !strings.Contains(string(text.Bytes()), "\x1b[31mOUR ERROR\x1b[0m") || !strings.Contains(string(text.Bytes()), "0 of 1 checks") || !strings.Contains(string(text.Bytes()), "1.500 ± 0.050") {
		t.Errorf("the table hides the error:\n%s", text.Bytes())
	}
	row := l.rows()[1]
	const why = "se, p, detects, reference: the figure is exact"
	if *row.Low != 1.4 || *row.High != 1.6 || *row.Estimate != 1.5 || row.Reference != nil || row.Reason != why {
		t.Errorf("row %+v", row)
	}
}

// TestSystemFigures: skipped layers and lags arrive as lines of their own, exact
// points without intervals.
func TestSystemFigures(t *testing.T) {
	curves := []verify.Curve{
		{Figure: verify.FigureSkipping, Family: "2 answers", Points: []verify.Point{{X: 0.25, Y: 1.2}, {X: 0.5, Y: 1.4}}},
		{Figure: verify.FigureSkipping, Family: "16 answers", Points: []verify.Point{{X: 0.25, Y: 0.9}}},
	}
	p := skippingData(curves).Panels[0]
	if len(p.Lines) != 2 || p.Reference != 1 || p.Lines[1].Label != "16 answers" || p.Lines[0].First[1].Y != 1.4 || !math.IsNaN(p.Lines[0].First[1].Low) {
		t.Errorf("%+v", p)
	}
	lag := []verify.Curve{{
		Figure: verify.FigureLag, Family: "clip", Kind: verify.MonteCarlo, Points: []verify.Point{{X: 16, Y: 0.5, Low: 0.4, High: 0.6}},
		Setting: verify.Setting{Population: "uniform", Strategy: "m2po", Batch: 16, Replicates: 9},
	}}
	p = lagData(lag).Panels[0]
	if len(p.Lines) != 1 || p.Lines[0].Label != "clip" || p.Lines[0].First[0] != (plots.Point{X: 16, Y: 0.5, Low: 0.4, High: 0.6}) {
		t.Errorf("%+v", p)
	}
	if text := caption(lag); !strings.Contains(text, "over 9 seeds") || !strings.Contains(text, "m2po on uniform") {
		t.Errorf("caption %q", text)
	}
	for _, kind := range []string{verify.FigureSkipping, verify.FigureLag} {
		if _, err := curvesData(kind, lag).Draw(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
