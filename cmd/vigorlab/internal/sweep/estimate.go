package sweep

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// An Estimate is what points cost, found by running some of them.
type Estimate struct {
	Samples []Sample
	Start   float64 // seconds of a processor that a task takes to begin
}

// A Sample is a point that was timed, alone and on one worker.
type Sample struct {
	Point   int
	Share   float64 // of the mean over all points, in proportion to those of the others
	Seconds float64 // of a processor
	Scaled  bool    // from fewer replicates, in proportion
	AtLeast bool    // it did not end in its time
	Failed  string  // why it failed; "" where it did not
}

const (
	calibration   = 10 * time.Second       // of a whole calibration, at most
	pointTime     = 5 * time.Second        // of one point, at most, but the first
	enough        = 300 * time.Millisecond // a run this long tells what replicates cost
	noise         = 10 * time.Millisecond  // by which two runs alike may differ
	sampled       = 8                      // points, at most
	fewReplicates = 4                      // of the first run of a point
)

// Calibrate times some points, in pairs of opposite ends of the grid's axes. Their
// shares give the mean of all points where costs are linear in the numbers of every axis
// and all corners are timed. A point that would take long is run with fewer replicates,
// where the command has such a flag: what that takes longer than a command that does
// nothing grows with them. No point is begun, and none goes on, after ten seconds; one
// that does not end when told to is killed five later.
func (p *Plan) Calibrate(ctx context.Context, executable string) (*Estimate, error) {
	until := time.Now().Add(calibration)
	start, why, err := timeRun(ctx, executable, []string{"version"})
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, errors.New(why)
	}
	e := &Estimate{Start: start.Seconds()}
	for _, at := range p.sample(sampled) {
		left := time.Until(until)
		if len(e.Samples) > 0 {
			if left < enough {
				break
			}
			left = min(left, pointTime)
		}
		s, err := p.timePoint(ctx, executable, p.Points[at], start, left)
		if err != nil {
			return nil, err
		}
		if s.Share = p.corners[at]; s.Share == 0 {
			s.Share = 1 // of points without a grid
		}
		e.Samples = append(e.Samples, s)
	}
	return e, nil
}

// sample returns at most n points: pairs of opposite corners of the grid, the first
// and last point first, or points spread evenly where there is no grid.
func (p *Plan) sample(n int) []int {
	var corners []int
	for i, c := range p.corners {
		if c > 0 {
			corners = append(corners, i)
		}
	}
	if len(corners) < 2 {
		corners = nil
		for i := range p.Points {
			corners = append(corners, i)
		}
	}
	var chosen []int
	half := (len(corners) + 1) / 2
	pairs := min(half, (n+1)/2)
	for k := range pairs {
		low := k * half / pairs
		for _, at := range []int{corners[low], corners[len(corners)-1-low]} {
			if !slices.Contains(chosen, at) {
				chosen = append(chosen, at)
			}
		}
	}
	return chosen
}

// timePoint times a point in the time that is left. A command without replicates has
// one; of others runs become longer until one tells enough of what a replicate costs.
func (p *Plan) timePoint(ctx context.Context, executable string, point Point, start, left time.Duration) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	s := Sample{Point: point.Number}
	all, scales := p.replicatesOf(point)
	for n := min(all, fewReplicates); ; {
		words := point.Words
		if scales {
			words = withFlag(words, p.Command.Scale, n)
		}
		took, why, err := timeRun(ctx, executable, append(slices.Clone(words), alone...))
		if errors.Is(err, context.DeadlineExceeded) {
			if s.Seconds == 0 {
				s.Seconds, s.AtLeast = took.Seconds(), true
			}
			return s, nil // or the run before says enough
		}
		if err != nil || why != "" {
			s.Failed = why
			return s, err
		}
		net := max(took-start, noise)
		s.Seconds, s.Scaled = extrapolated(took, net, n, all), n < all
		if n == all || net > enough {
			return s, nil
		}
		n = int(min(float64(all), math.Ceil(1.5*float64(n)*float64(enough)/float64(net))))
	}
}

// extrapolated returns the seconds of all replicates where n of them took so long, net
// of it for the replicates themselves.
func extrapolated(took, net time.Duration, n, all int) float64 {
	return took.Seconds() + net.Seconds()/float64(n)*float64(all-n)
}

// replicatesOf returns how many replicates a point has, and whether its command has
// a flag for them; 1 where it has none.
func (p *Plan) replicatesOf(point Point) (n int, ok bool) {
	if p.Command.Scale == "" {
		return 1, false
	}
	n = p.Command.Scaled
	for i, w := range point.Words {
		if w == "--"+p.Command.Scale && i+1 < len(point.Words) {
			if given, err := strconv.Atoi(point.Words[i+1]); err == nil {
				n = given
			}
		}
	}
	return max(n, 1), true
}

// withFlag returns a command line with a flag set to n.
func withFlag(words []string, flag string, n int) []string {
	words = slices.Clone(words)
	if at := slices.Index(words, "--"+flag); at >= 0 && at+1 < len(words) {
		words[at+1] = strconv.Itoa(n)
		return words
	}
	return append(words, "--"+flag, strconv.Itoa(n))
}

// timeRun runs a command line and returns the processor time that it took, which other
// programs change little, or why it failed.
func timeRun(ctx context.Context, executable string, words []string) (took time.Duration, why string, err error) {
	var stderr bytes.Buffer
	cmd := process(ctx, executable, words)
	cmd.Stderr = &stderr
	err = runAlone(cmd)
	if cmd.ProcessState != nil {
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if ctx.Err() != nil {
		return took, "", ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return took, reason(stderr.String(), exit), nil
	}
	if errors.Is(err, syscall.E2BIG) {
		return took, tooLong, nil
	}
	return took, "", err
}

// ended returns the samples that did not fail.
func (e *Estimate) ended() []Sample {
	return slices.DeleteFunc(slices.Clone(e.Samples), func(s Sample) bool { return s.Failed != "" })
}

// Seconds returns the mean over samples by their shares, the least and the most; ok is
// false where none was timed. Where some did not end in their time, atLeast is true.
func (e *Estimate) Seconds() (mean, least, most float64, atLeast, ok bool) {
	ended := e.ended()
	if len(ended) == 0 {
		return 0, 0, 0, false, false
	}
	least, most = math.Inf(1), 0
	shares := 0.0
	for _, s := range ended {
		shares += s.Share
	}
	for _, s := range ended {
		mean += s.Seconds * s.Share / shares
		least, most = math.Min(least, s.Seconds), math.Max(most, s.Seconds)
		atLeast = atLeast || s.AtLeast
	}
	return mean, least, most, atLeast, true
}

// Cost returns the seconds that so many points in so many shards take of a processor, and
// what they would if all points were as the cheapest, or as the dearest, that was timed.
func (e *Estimate) Cost(points, shards int) (about, low, high float64, atLeast, ok bool) {
	about, low, high, atLeast, ok = e.Seconds()
	of := func(each float64) float64 { return each*float64(points) + e.Start*float64(shards) }
	return of(about), of(low), of(high), atLeast, ok
}

// Shards returns into how many shards so many points are dealt for a task to take
// about so many seconds.
func (e *Estimate) Shards(points int, seconds float64) int {
	mean, _, _, _, ok := e.Seconds()
	if !ok {
		return points
	}
	each := math.Ceil(seconds / math.Max(mean, 1e-3)) // a process takes a millisecond at least
	return int(math.Ceil(float64(points) / math.Min(each, float64(points))))
}
