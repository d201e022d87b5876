// Package progress shows on a terminal how far a run is. It refuses to write
// anywhere else: a log file gets no progress.
package progress

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"vigorlab/cmd/vigorlab/internal/output"
)

// A Bar is the progress of a run, part by part; the zero value shows nothing.
// Goroutines may share it.
type Bar struct {
	mutex sync.Mutex
	w     io.Writer                // nil where nothing is to be shown
	bar   *progressbar.ProgressBar // nil between parts
	title string
	note  string
	total int
	done  int
}

// New returns a bar on w, which shows nothing where quiet is set or w is no
// terminal.
func New(w io.Writer, quiet bool) *Bar {
	if quiet || !output.Terminal(w) {
		return &Bar{}
	}
	return &Bar{w: w}
}

// Show says that done of total steps of the part called title are done. A new
// part takes the place of the last one.
func (b *Bar) Show(title string, done, total int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.w == nil {
		return
	}
	if b.bar == nil || title != b.title || total != b.total || done < b.done {
		b.start(title, total)
	}
	b.done = done
	_ = b.bar.Set(done) // a bar that cannot be drawn is no failure of the run
}

// Note puts a text beside the title of the parts to come.
func (b *Bar) Note(text string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.note = ", " + text
	if b.bar != nil {
		b.bar.Describe(b.title + b.note)
	}
}

// Beside lets a line be written where the bar stands, which then stands below it.
func (b *Bar) Beside(write func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.bar != nil {
		_ = b.bar.Clear() // as in Show; the next step draws it again
	}
	write()
}

func (b *Bar) start(title string, total int) {
	b.clear()
	b.title, b.total = title, total
	b.bar = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(title+b.note),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionSetPredictTime(total > 1),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// Close removes the bar for good.
func (b *Bar) Close() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.clear()
	b.w = nil
}

func (b *Bar) clear() {
	if b.bar != nil {
		_ = b.bar.Finish() // as in Show
		b.bar = nil
	}
}
