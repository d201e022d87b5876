package sweep

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// alone are the flags that a point has beside its own.
var alone = []string{"--workers", "1", "--format", "csv", "--quiet"}

// interrupted is the exit code of a command that a signal ended.
const interrupted = 130

// tooLong is why a point fails that the system does not begin for its length.
const tooLong = "its command line is too long for this system"

// Run runs the points of a shard, so many at once as there are workers, each as a
// process of the executable, and writes its rows and manifest. A point that fails is a
// row with the reason. The end of ctx ends the shard, which then writes nothing.
func (s *Sweep) Run(ctx context.Context, executable string, shard, workers int) error {
	if _, err := os.Stat(s.Folder); err != nil {
		return fmt.Errorf("the folder in which the sweep began: %w", err)
	}
	if err := s.checkInputs(); err != nil {
		return err
	}
	span := s.Shards[shard-1]
	points := s.Points[span.From-1 : span.To]
	rows, why := make([][]row, len(points)), make([]string, len(points))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, p := range points {
		group.Go(func() (err error) {
			rows[i], why[i], err = s.runPoint(ctx, executable, p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var failed []Failure
	for i, p := range points {
		if why[i] != "" {
			failed = append(failed, Failure{p.Number, why[i]})
			rows[i] = []row{s.failedRow(p, why[i])}
		}
	}
	if err := s.write(shard, slices.Concat(rows...), failed); err != nil {
		return fmt.Errorf("shard %04d: %w", shard, err)
	}
	return nil
}

// runPoint runs a point and returns its rows, or why it failed. One that a signal killed
// is begun again: a cluster that ends a task kills all its processes, and this one, which
// may be the last, must not take that for the point's own fault.
func (s *Sweep) runPoint(ctx context.Context, executable string, p Point) (rows []row, why string, err error) {
	for range attempts {
		var killed bool
		if rows, why, killed, err = s.tryPoint(ctx, executable, p); !killed {
			break
		}
	}
	return rows, why, err
}

// tryPoint is runPoint without a second time; killed says whether a signal ended it.
func (s *Sweep) tryPoint(ctx context.Context, executable string, p Point) (rows []row, why string, killed bool, err error) {
	var stdout, stderr bytes.Buffer
	cmd := process(ctx, executable, append(slices.Clone(p.Words), alone...))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Folder, &stdout, &stderr
	err = runAlone(cmd)
	if ctx.Err() != nil {
		return nil, "", false, ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == interrupted:
		return nil, "", false, context.Canceled // by a signal that this process will get too
	case errors.As(err, &exit):
		return nil, reason(stderr.String(), exit), exit.ExitCode() < 0, nil
	case errors.Is(err, syscall.E2BIG):
		return nil, tooLong, false, nil
	case err != nil:
		return nil, "", false, err
	}
	rows, err = s.pointRows(p, stdout.Bytes())
	if err != nil {
		return nil, err.Error(), false, nil
	}
	return rows, "", false, nil
}

// process returns a process of vigorlab that ends when ctx does: at first as by
// Ctrl-C, and for good where it does not within a few seconds.
func process(ctx context.Context, executable string, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, executable, words...)
	cmd.Args[0] = "vigorlab"
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// pointRows returns what a point printed as rows of the sweep's table.
func (s *Sweep) pointRows(p Point, printed []byte) ([]row, error) {
	records, err := csv.NewReader(bytes.NewReader(printed)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("it printed no CSV: %w", err)
	}
	if len(records) < 2 {
		return nil, errors.New("it printed no figures")
	}
	if !slices.Equal(records[0], namesOf(s.Columns)) {
		return nil, fmt.Errorf("it printed the columns %s, want %s", strings.Join(records[0], ", "), strings.Join(namesOf(s.Columns), ", "))
	}
	figure := slices.Index(records[0], "figure")
	var rows []row
	for _, r := range records[1:] {
		if figure >= 0 && slices.Contains(s.Timed, r[figure]) {
			continue
		}
		rows = append(rows, slices.Concat(s.lead(p), r, row{""}))
	}
	return rows, nil
}

// lead returns the first cells of a point's rows: its number and its axes.
func (s *Sweep) lead(p Point) row { return append(row{fmt.Sprint(p.Number)}, p.Cells...) }

// failedRow returns the row of a point that has no figures.
func (s *Sweep) failedRow(p Point, why string) row {
	return slices.Concat(s.lead(p), make(row, len(s.Columns)), row{why})
}

// crash is where Go begins to say where it was: addresses, which differ from run to run.
var crash = regexp.MustCompile(`(?m)^(goroutine \d+|runtime stack:|\[signal |PC=)`)

// memory is what Go says, in one of many ways, where a process gets no more memory.
var memory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to reserve|pthread_create failed`)

// reason returns why a process failed: its complaints, or what Go says of a crash, or
// how it ended. The same failure has the same reason in every run.
func reason(stderr string, exit *exec.ExitError) string {
	if at := crash.FindStringIndex(stderr); at != nil {
		if memory.MatchString(stderr[:at[0]]) {
			return "out of memory"
		}
		stderr = stderr[:at[0]]
	}
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "vigorlab: "))
		if line != "" && !strings.HasPrefix(line, "hint: ") && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	const longest = 2000 // bytes
	text := strings.ToValidUTF8(strings.Join(lines, "; "), "?")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	if exit.ExitCode() < 0 || text == "" {
		text = strings.Trim(exit.String()+"; "+text, "; ") // signal: killed
	}
	return text
}
