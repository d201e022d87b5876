package progress_test

import (
	"bytes"
	"testing"

	"vigorlab/cmd/vigorlab/internal/progress"
)

func TestNothingIsShownBesideTerminals(t *testing.T) {
	var log bytes.Buffer
	for _, bar := range []*progress.Bar{progress.New(&log, false), progress.New(&log, true), {}} {
		bar.Show("batches", 1, 2)
		bar.Show("batches", 2, 2)
		bar.Close()
		bar.Show("late", 1, 2)
	}
	if log.Len() != 0 {
		t.Errorf("a log file got %q", &log)
	}
}
