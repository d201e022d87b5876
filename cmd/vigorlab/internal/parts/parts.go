// Package parts holds the one table of optional parts: programs, libraries and
// folders that some of vigorlab needs and a machine may lack, what each is for and
// what brings it. It refuses to install anything, and to print.
package parts

import (
	"context"
	"time"
)

// Who needs a part.
const (
	Using = "using" // whoever runs a command
	Tests = "tests" // whoever runs `make test`, `make bench` or another target of the Makefile
)

// A Part is one row of the table.
type Part struct {
	Name      string
	Needed    string // Using or Tests
	For       string // what does not work without
	Debian    string // the packages that bring it on Debian, or "" of none
	Elsewhere string // what brings it where Debian's packages do not

	// look finds the part. Its error says what is missing.
	look func(context.Context) (version string, err error)
}

// A Finding is what a machine has of a part.
type Finding struct {
	Part
	Version string // "" where the part has none, or is missing
	Err     error  // what is missing, nil where nothing is
}

// patience bounds the look at one part: a program that hangs is as good as none.
const patience = time.Minute

// Look looks for every part, one after the other, in the table's order. It starts
// programs of the machine, on PATH, and changes nothing.
func Look(ctx context.Context) []Finding {
	found := make([]Finding, len(table))
	for i, p := range table {
		found[i] = look(ctx, p)
	}
	return found
}

func look(ctx context.Context, p Part) Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	version, err := p.look(ctx)
	return Finding{p, version, err}
}

// Table returns the parts that Look looks for.
func Table() []Part { return append([]Part(nil), table...) }

// table has the parts, those of users first. A package that .ci/parts installs
// stands here too; a test holds that.
var table = []Part{
	{
		Name: "bwrap", Needed: Using,
		For:       "the verifier code: programs in a sandbox (0.8 or newer)",
		Debian:    "bubblewrap",
		Elsewhere: "dnf install bubblewrap, apk add bubblewrap; Linux alone",
		look:      program("bwrap", "--version"),
	},
	{
		Name: "sandbox", Needed: Using,
		For:       "the verifier code: bwrap makes one here",
		Debian:    "bubblewrap util-linux",
		Elsewhere: "a kernel, or container, that allows user namespaces",
		look:      sandboxed,
	},
	{
		Name: "cgroup", Needed: Using,
		For:       "the verifier code: memory bounded for all processes of a program together",
		Elsewhere: "root, or a delegated cgroup: systemd-run --user --scope -p Delegate=yes",
		look:      bounded,
	},
	{
		Name: "python3", Needed: Using,
		For:       "the verifier code for Python, and judges of your own in Python (command:)",
		Debian:    "python3",
		Elsewhere: "dnf install python3, apk add python3, python.org",
		look:      program("python3", "--version"),
	},
	{
		Name: "node", Needed: Using,
		For:       "the verifier code for JavaScript; the server of the project's own model (20 or newer, as of Debian 13)",
		Debian:    "nodejs npm",
		Elsewhere: "nodejs.org",
		look:      program("node", "--version"),
	},
	{
		Name: "shared", Needed: Using,
		For:       "recorded tables of real runs, for verify --table and for tests",
		Elsewhere: "put the project's shared folder at ../shared, or its path into VIGORLAB_SHARED",
		look:      sharedFolder,
	},
	{
		Name: "tex", Needed: Using,
		For:       "papers that take vigorlab's figures as LaTeX",
		Debian:    "texlive-latex-base texlive-pictures",
		Elsewhere: "tug.org/texlive",
		look:      program("pdflatex", "--version"),
	},
	{
		Name: "slurm", Needed: Using,
		For:       "sweep --engine slurm: sweeps as jobs of a cluster",
		Debian:    "slurm-client",
		Elsewhere: "a login node of your cluster",
		look:      cluster,
	},
	{
		Name: "jupyter", Needed: Using,
		For:       "the notebooks (of /usr/bin/python3; make notebooks)",
		Debian:    "jupyter-nbconvert python3-ipykernel python3-pandas python3-matplotlib",
		Elsewhere: "python3 -m pip install nbconvert ipykernel pandas matplotlib, to read them in an editor of your own",
		look:      modules("/usr/bin/python3", "nbconvert", "ipykernel", "pandas", "matplotlib"),
	},
	{
		Name: "bash-completion", Needed: Using,
		For:       "vigorlab completion bash",
		Debian:    "bash-completion",
		Elsewhere: "dnf install bash-completion, brew install bash-completion@2",
		look:      anyFile("/usr/share/bash-completion/bash_completion", "/usr/local/etc/profile.d/bash_completion.sh", "/opt/homebrew/etc/profile.d/bash_completion.sh"),
	},
	{
		Name: "go", Needed: Tests,
		For:       "building and testing vigorlab (1.26)",
		Elsewhere: "go.dev/dl; Debian's golang-go is too old before 1.21, from which on it fetches 1.26 itself",
		look:      program("go", "version"),
	},
	{
		Name: "git", Needed: Tests,
		For:       "fetching vigorlab; the revision in vigorlab version",
		Debian:    "git",
		Elsewhere: "git-scm.com",
		look:      program("git", "--version"),
	},
	{
		Name: "make", Needed: Tests,
		For:       "make test and the other targets",
		Debian:    "make",
		Elsewhere: "dnf install make, xcode-select --install",
		look:      program("make", "--version"),
	},
	{
		Name: "gcc", Needed: Tests,
		For:       "tests under the race detector, make bench",
		Debian:    "gcc libc6-dev",
		Elsewhere: "dnf install gcc, apk add build-base, xcode-select --install",
		look:      compiler,
	},
	{
		Name: "llama.cpp", Needed: Tests,
		For:       "the server of the project's own model: make serve, make live, tests of live runs",
		Elsewhere: "make server-parts, in the repository, which takes npm",
		look:      modelServer,
	},
	{
		Name: "chromium", Needed: Tests,
		For:       "tests of pages in a browser",
		Debian:    "chromium",
		Elsewhere: "chromium or google-chrome on PATH",
		look:      anyProgram("chromium", "chromium-browser", "google-chrome"),
	},
	{
		Name: "slurm cluster", Needed: Tests,
		For:       "tests of sweeps on a cluster, which they start on this machine, as root",
		Debian:    "slurm-wlm munge",
		Elsewhere: "Slurm's slurmctld and slurmd, and munge, on PATH",
		look:      program("slurmctld", "-V"),
	},
	{
		Name: "pdftotext", Needed: Tests,
		For:       "tests of the text in PDF figures",
		Debian:    "poppler-utils",
		Elsewhere: "dnf install poppler-utils, brew install poppler",
		look:      program("pdftotext", "-v"),
	},
	{
		Name: "mpmath", Needed: Tests,
		For:       "make golden: golden values made again",
		Debian:    "python3-mpmath",
		Elsewhere: "python3 -m pip install mpmath",
		look:      modules("python3", "mpmath"),
	},
	{
		Name: "numpy, numba", Needed: Tests,
		For:       "make bench: two of the reference programs",
		Debian:    "python3-numpy python3-numba",
		Elsewhere: "python3 -m pip install numpy numba",
		look:      modules("python3", "numpy", "numba"),
	},
}
