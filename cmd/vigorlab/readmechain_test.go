package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeChain runs the commands of README's section on pilots, one after the
// other, and expects the lines that it quotes under each, in their order, and
// the picture in the gallery.
func TestReadmeChain(t *testing.T) {
	section := readmeSection(t, "From a pilot to a plan")
	drawn := pixelsOf(t, filepath.Join("..", "..", "plots", "gallery", "pilot-plan.png"))
	t.Chdir(t.TempDir())
	commands := runQuoted(t, section)
	if commands < 5 {
		t.Errorf("%d commands in the section, want the chain of five", commands)
	}
	if share := unlike(pixelsOf(t, filepath.Join("plan", "figures", "plan.png")), drawn); !(share <= 0.005) {
		t.Errorf("%.2f %% of the pixels of the gallery's pilot-plan.png are others, want at most 0.5 %%: make figures draws it again", 100*share)
	}
}

// TestReadmeTour runs the commands of README's tour, one after the other, and
// expects the lines that it quotes under each and the pictures in the gallery.
func TestReadmeTour(t *testing.T) {
	section := readmeSection(t, "A tour of ten minutes")
	gallery, err := filepath.Abs(filepath.Join("..", "..", "plots", "gallery"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if commands := runQuoted(t, section); commands != 5 {
		t.Errorf("%d commands in the section, want 5", commands)
	}
	for picture, drawn := range map[string]string{
		"tour-allocation.png":   filepath.Join("run", "figures", "allocation.png"),
		"tour-cost-quality.png": filepath.Join("field", "figures", "cost-quality-A.png"),
	} {
		if share := unlike(pixelsOf(t, drawn), pixelsOf(t, filepath.Join(gallery, picture))); !(share <= 0.005) {
			t.Errorf("%.2f %% of the pixels of the gallery's %s are others, want at most 0.5 %%: make figures draws it again", 100*share, picture)
		}
		if !strings.Contains(section, "plots/gallery/"+picture) {
			t.Errorf("README does not show %s", picture)
		}
	}
}

// TestReadmeRewards runs the commands of README's section on rewards, and holds
// what it says of label noise: eta of the rewards given, and by
// 1-u = (1-u')/(1-2q)^2 that of right and wrong, where E[u] = 4ab/((a+b)(a+b+1)).
func TestReadmeRewards(t *testing.T) {
	section := readmeSection(t, "Rewards")
	t.Chdir(filepath.Join("..", ".."))
	if commands := runQuoted(t, section); commands != 2 {
		t.Errorf("%d commands in the section, want 2", commands)
	}
	const mean = 0.12 / 0.56
	for _, c := range []struct {
		q            float64
		given, right string
	}{{0, "2.04", "2.04"}, {0.05, "1.43", "1.91"}, {0.2, "1.05", "1.47"}} {
		document, _ := runJSON(t, "theory", "--population", fmt.Sprintf("flip:q=%v@beta:a=0.1,b=0.3", c.q), "--strategy", "vigor")
		eta := document.(map[string]any)["eta"].(map[string]any)["noisy"].(float64)
		keep := (1 - 2*c.q) * (1 - 2*c.q)
		given := 1 - keep*(1-mean)
		of := (1 - (1-eta*given)/keep) / mean
		if got := fmt.Sprintf("%.2f %.2f", eta, of); got != c.given+" "+c.right {
			t.Errorf("q = %v: eta %s, want %s and %s as README says", c.q, got, c.given, c.right)
		}
		for _, x := range []string{c.given, c.right} {
			if !strings.Contains(section, x) {
				t.Errorf("README does not say %s", x)
			}
		}
	}
}

// readmeSection returns a section of README.md.
func readmeSection(t *testing.T, title string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(content), "\n## "+title+"\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !ok || !ended {
		t.Fatalf("README.md has no section %q", title)
	}
	return section
}

// runQuoted runs the commands that a section quotes, one after the other, expects
// the lines that it quotes under each, in their order, and returns how many
// commands there are.
func runQuoted(t *testing.T, section string) int {
	t.Helper()
	commands := 0
	var rest []string // lines of output that are still to be quoted
	for line := range strings.Lines(section) {
		text, quoted := strings.CutPrefix(line, "    ")
		if !quoted {
			continue
		}
		if command, ok := strings.CutPrefix(text, "$ vigorlab "); ok {
			commands++
			var stdout, stderr bytes.Buffer
			if code := execute(context.Background(), strings.Fields(command), &stdout, &stderr); code != exitDone {
				t.Fatalf("%s: exit code %d: %s", command, code, &stderr)
			}
			rest = strings.Split(stdout.String(), "\n")
			continue
		}
		text = strings.TrimRight(text, "\n")
		if text == "" || text == "..." {
			continue
		}
		at := 0
		for at < len(rest) && rest[at] != text {
			at++
		}
		if at == len(rest) {
			t.Errorf("no command prints the line, or not here:\n%s", text)
			continue
		}
		rest = rest[at+1:]
	}
	return commands
}

func pixelsOf(t *testing.T, path string) image.Image {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

// unlike returns the share of pixels whose red, green or blue differs by more
// than an eighth, 1 where the sizes differ.
func unlike(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	size, n := a.Bounds(), 0
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			r, g, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			far := func(v, w uint32) bool { return max(v, w)-min(v, w) > 0xffff/8 }
			if far(r, r2) || far(g, g2) || far(b1, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(size.Dx()*size.Dy())
}
