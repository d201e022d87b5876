package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// TestDoctorOnABareMachine runs doctor where PATH is empty and no repository is
// around: it says of every part what is missing and what brings it, and ends well.
func TestDoctorOnABareMachine(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("VIGORLAB_SHARED", "")
	t.Chdir(t.TempDir())
	document, keys := runJSON(t, "doctor")
	if want := []string{"schema", "version", "command", "coding", "machine", "parts"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	missing := 0
	for _, p := range document.(map[string]any)["parts"].([]any) {
		part := p.(map[string]any)
		if part["elsewhere"] == "" || part["for"] == "" {
			t.Errorf("%v: it does not say what for, and what brings it", part)
		}
		if part["here"] == true {
			continue
		}
		missing++
		if part["version"] != nil || part["reason"] == "" {
			t.Errorf("%v: a missing part with a version, or without a reason", part)
		}
	}
	if missing < 12 {
		t.Errorf("%d parts are missing where PATH is empty, want 12 at least", missing)
	}
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), []string{"doctor"}, &stdout, &stderr); code != exitDone || stderr.Len() > 0 {
		t.Errorf("exit code %d, %q on stderr; want 0 and nothing", code, &stderr)
	}
	for _, want := range []string{"Not here\n", "  bwrap: ", "no bwrap on PATH", "Debian: apt-get install bubblewrap", "make server-parts"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, &stdout)
		}
	}
	checkWidth(t, "doctor", stdout.String())
}
