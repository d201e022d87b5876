package logs_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/sim/logs"
)

// BenchmarkImport imports verl logs, as many bytes a rollout as the name says,
// its prompts shuffled as verl does: 150 are a question and a number, 500 short
// answers, 4000 the reasoning that most logs are full of. The claim is 100 MB/s
// on one core, GOMAXPROCS=1.
func BenchmarkImport(b *testing.B) {
	for _, size := range []int{150, 500, 4000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "1.jsonl")
			bytes := verlLog(b, path, size, 64<<20)
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := logs.Import(context.Background(), logs.Options{Paths: []string{path}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// verlLog writes a verl log of about so many bytes and returns their number.
func verlLog(b *testing.B, path string, size, bytes int) int64 {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(20260101, 0))
	filler := strings.Repeat(`so we have \\frac{1}{2} of it,\n`, size/30)
	written := 0
	for i := 0; written < bytes; i++ {
		n, err := fmt.Fprintf(w, `{"input": "user\nWhat is %d*%d?%s\nassistant\n", "output": "%s", "gts": "7", "score": %d.0, "step": %d}`+"\n",
			i*7%1000, i*7%1000, cut(filler, min(200, size/3)), cut(filler, size-340), r.IntN(2), 1+i/8000)
		if err != nil {
			b.Fatal(err)
		}
		written += n
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return int64(written)
}

// cut returns at most n bytes of a JSON text, no escape cut in two.
func cut(text string, n int) string { return strings.TrimRight(text[:max(0, n)], `\`) }
