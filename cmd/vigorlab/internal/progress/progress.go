// Package progress shows on a terminal how far a run is. It refuses to write
// anywhere else: a log file gets no progress.
package progress

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"vigorlab/cmd/vigorlab/internal/output"
)

// A Bar is the progress of a run; the zero value shows nothing.
type Bar struct{ bar *progressbar.ProgressBar }

// New starts a bar of total steps on w, which shows nothing where quiet is
// set or w is no terminal.
func New(w io.Writer, title string, total int, quiet bool) *Bar {
	if quiet || !output.Terminal(w) {
		return &Bar{}
	}
	return &Bar{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Set moves the bar to done steps.
func (b *Bar) Set(done int) {
	if b.bar != nil {
		_ = b.bar.Set(done) // a bar that cannot be drawn is no failure of the run
	}
}

// Restart begins a further part of the run.
func (b *Bar) Restart(title string, total int) {
	if b.bar != nil {
		b.bar.Describe(title)
		b.bar.ChangeMax(total)
		b.bar.Reset()
	}
}

// Close removes the bar.
func (b *Bar) Close() {
	if b.bar != nil {
		_ = b.bar.Finish() // as Set
	}
}
