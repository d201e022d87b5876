package reward

import (
	"fmt"
	"regexp"

	"vigorlab/sim/reward/sandbox"
)

// A language is one that programs are judged in.
type language struct {
	name    string
	command string   // the interpreter, which a sandbox looks for under /usr
	brings  string   // the package of Debian that brings it
	file    string   // what a program is called in the sandbox
	labels  []string // of fenced blocks that hold it, in small letters
	// args are those before the file, where memory is in bytes; Python's are those of
	// a harness.
	args func(memory int64) []string
	// reserves says that the interpreter reserves far more address space than it
	// uses.
	reserves bool
	// exhausted is how its last words say that memory ran out.
	exhausted *regexp.Regexp
	// serves says that programs can be called and tested by functions, not only
	// by their input and output.
	serves bool
}

// languages lists them. Another one is a row, with a program in TestLanguages.
var languages = []language{
	{
		name: "python", command: "python3", brings: "python3", file: "program.py",
		labels:    []string{"python", "py", "python3"},
		exhausted: regexp.MustCompile(`MemoryError`), serves: true,
	},
	{
		name: "javascript", command: "node", brings: "nodejs", file: "program.js",
		labels: []string{"javascript", "js", "node", "nodejs"},
		// Half for the heap, since the data of V8 beside it counts too.
		args:      func(memory int64) []string { return []string{fmt.Sprintf("--max-old-space-size=%d", memory>>21)} },
		reserves:  true,
		exhausted: regexp.MustCompile(`heap out of memory|process out of memory|Array buffer allocation failed`),
	},
	{
		name: "bash", command: "bash", brings: "bash", file: "program.sh",
		labels:    []string{"bash", "sh", "shell"},
		args:      func(int64) []string { return nil },
		exhausted: regexp.MustCompile(`cannot allocate`),
	},
}

// languageNames lists the names of languages.
func languageNames() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = l.name
	}
	return names
}

// findLanguage returns a language by its name, one of languageNames, and the
// command that runs it.
func findLanguage(name string) (language, string, error) {
	for _, l := range languages {
		if l.name != name {
			continue
		}
		path, ok := sandbox.Find(l.command)
		if !ok {
			return l, "", fmt.Errorf("code: language = %s, and there is no %s under /usr, where the sandbox sees it: apt-get install %s", name, l.command, l.brings)
		}
		return l, path, nil
	}
	return language{}, "", fmt.Errorf("code: language = %q is unknown", name)
}
