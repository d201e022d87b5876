package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"vigorlab/distributions/spec"
)

// A Slurm is what a file says to the scheduler of a cluster: the options of sbatch of
// these names. What is empty is left to the cluster.
type Slurm struct {
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition,omitempty"`
	Time      string `json:"time,omitempty"`
	Memory    string `json:"memory,omitempty"`
	CPUs      int    `json:"cpus,omitempty"`

	Setup []string `json:"setup,omitempty"` // lines of shell before the task
}

// A file is what a sweep's file says, checked.
type file struct {
	command Command
	args    []string
	flags   []setting
	list    []map[string]Value // points by name
	random  int                // draws; 0 for none
	seed    uint64             // of the draws
	axes    []axis
	slurm   Slurm
}

// A setting is a flag with what it is set to.
type setting struct {
	name  string
	value Value
}

// An axis is what differs between points.
type axis struct {
	name   string
	where  string  // as the file has it: grid.alpha
	values []Value // of a grid, and of a list all that are there
	draw   *draw   // of a random search
	grid   bool
	placed bool // placeholders take its values, not a flag of its name
}

// A reader collects what a file says and all that is wrong with it.
type reader struct {
	file
	meta   toml.MetaData
	faults []error
}

// read reads a file for one of the commands. The error joins all that is wrong.
func read(content []byte, commands []Command) (*file, error) {
	var top map[string]any
	meta, err := toml.Decode(string(content), &top)
	if err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("line %d: %s", parse.Position.Line, parse.Message)
		}
		return nil, err
	}
	r := &reader{meta: meta}
	known := []string{"command", "args", "flags", "list", "random", "grid", "slurm"}
	for _, key := range sortedKeys(top) {
		if !slices.Contains(known, key) {
			r.fault("%s", unknown("key", key, known))
		}
	}
	r.readCommand(top["command"], commands)
	r.readArgs(top["args"])
	r.readFlags(r.table(top, "flags"))
	r.readList(top["list"])
	r.readRandom(r.table(top, "random"))
	r.readGrid(r.table(top, "grid"))
	r.readSlurm(r.table(top, "slurm"))
	if r.command.Name != "" {
		r.checkAxes()
		r.checkFlags()
	}
	return &r.file, errors.Join(r.faults...)
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// unknown says that a name is not one of those known.
func unknown(what, name string, known []string) string {
	text := fmt.Sprintf("unknown %s %s, want one of %s", what, name, strings.Join(known, ", "))
	if near, ok := spec.Nearest(name, known); ok {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return text
}

func sortedKeys[V any](table map[string]V) []string { return slices.Sorted(maps.Keys(table)) }

// table returns a table of the file, nil where it is absent.
func (r *reader) table(top map[string]any, key string) map[string]any {
	switch x := top[key].(type) {
	case nil:
	case map[string]any:
		return x
	default:
		r.fault("%s is %s, want a table: [%s]", key, typeName(x), key)
	}
	return nil
}

// keys returns the keys of a table in the order of the file.
func (r *reader) keys(table map[string]any, path ...string) []string {
	var keys []string
	for _, key := range r.meta.Keys() {
		if len(key) == len(path)+1 && slices.Equal(key[:len(path)], path) && !slices.Contains(keys, key[len(path)]) {
			keys = append(keys, key[len(path)])
		}
	}
	for _, key := range sortedKeys(table) { // of inline tables, whose order is not kept
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *reader) readCommand(x any, commands []Command) {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	name, ok := x.(string)
	if !ok {
		r.fault("command is missing, want one of %s", strings.Join(names, ", "))
		return
	}
	at := slices.Index(names, name)
	if at < 0 {
		r.fault("%s", unknown("command", name, names))
		return
	}
	r.command = commands[at]
}

func (r *reader) readArgs(x any) {
	if x == nil {
		return
	}
	list, ok := x.([]any)
	if !ok {
		r.fault("args is %s, want a list of texts", typeName(x))
		return
	}
	for i, x := range list {
		text, ok := x.(string)
		if !ok || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "-") || strings.Contains(text, "\x00") {
			r.fault("args[%d] = %v, want a text that is no flag; flags stand in [flags]", i+1, x)
			continue
		}
		r.args = append(r.args, text)
	}
	if len(list) > 0 && r.command.Name != "" && !r.command.Args {
		r.fault("args: %s takes none, want flags alone", r.command.Name)
	}
}

func (r *reader) readFlags(table map[string]any) {
	for _, name := range r.keys(table, "flags") {
		v, err := valueOf(table[name])
		if err != nil {
			r.fault("flags.%s %w", name, err)
			continue
		}
		r.flags = append(r.flags, setting{name, v})
	}
}

func (r *reader) readGrid(table map[string]any) {
	for _, name := range r.keys(table, "grid") {
		where := "grid." + name
		var values []Value
		var err error
		switch x := table[name].(type) {
		case []any:
			values, err = valuesOf(x)
		case map[string]any:
			values, err = rangeOf(x)
		default:
			err = fmt.Errorf("is %s, want a list or {from, to, step} or {from, to, count, log}", typeName(x))
		}
		if err != nil {
			r.fault("%s", spaced(where, err))
		}
		r.addAxis(axis{name: name, where: where, values: values, grid: true})
	}
}

// spaced puts an error behind its subject: grid.alpha[2] = ..., grid.alpha is ...
func spaced(where string, err error) string {
	if text := err.Error(); strings.HasPrefix(text, "[") {
		return where + text
	}
	return where + " " + err.Error()
}

func (r *reader) readList(x any) {
	var entries []map[string]any
	switch x := x.(type) {
	case nil:
		return
	case []map[string]any:
		entries = x
	case []any:
		for i, e := range x {
			entry, ok := e.(map[string]any)
			if !ok {
				r.fault("list[%d] is %s, want a table: {name = value, ...}", i+1, typeName(e))
				return
			}
			entries = append(entries, entry)
		}
	default:
		r.fault("list is %s, want a list of tables: [{name = value, ...}, ...]", typeName(x))
		return
	}
	if len(entries) == 0 {
		r.fault("list is empty, want at least one point")
		return
	}
	names := slices.DeleteFunc(r.keys(entries[0], "list"), func(name string) bool { return entries[0][name] == nil })
	for i, entry := range entries {
		if !slices.Equal(sortedKeys(entry), sortedKeys(entries[0])) {
			r.fault("list[%d] has %s, want the names of list[1]: %s", i+1, strings.Join(sortedKeys(entry), ", "), strings.Join(names, ", "))
			return
		}
		point := map[string]Value{}
		for _, name := range names {
			v, err := valueOf(entry[name])
			if err != nil {
				r.fault("list[%d].%s %w", i+1, name, err)
				v = Value{kind: Text, texts: []string{"?"}}
			}
			point[name] = v
		}
		r.list = append(r.list, point)
	}
	for _, name := range names {
		var values []Value
		for _, point := range r.list {
			values = append(values, point[name])
		}
		r.addAxis(axis{name: name, where: "list." + name, values: values})
	}
}

func (r *reader) readRandom(table map[string]any) {
	if table == nil {
		return
	}
	if err := keysOf(table, "n", "seed", "axes"); err != nil {
		r.fault("random %w", err)
	}
	n, ok := table["n"].(int64)
	if !ok || n < 1 || n > maxPoints {
		r.fault("random.n = %v, want a whole number in [1, %d]", table["n"], maxPoints)
	}
	seed, ok := table["seed"].(int64)
	if table["seed"] == nil {
		seed = 1
	} else if !ok || seed < 0 {
		r.fault("random.seed = %v, want a whole number in [0, %d]", table["seed"], int64(math.MaxInt64))
	}
	r.random, r.seed = int(n), uint64(seed)
	axes, ok := table["axes"].(map[string]any)
	if !ok || len(axes) == 0 {
		r.fault("random.axes is missing, want a table of what to draw: axes.alpha = {min = 0.2, max = 0.8}")
	}
	for _, name := range r.keys(axes, "random", "axes") {
		where := "random.axes." + name
		d, err := drawOf(axes[name])
		if err != nil {
			r.fault("%s", spaced(where, err))
		}
		r.addAxis(axis{name: name, where: where, values: d.list, draw: &d})
	}
}

func (r *reader) readSlurm(table map[string]any) {
	texts := map[string]*string{
		"account": &r.slurm.Account, "partition": &r.slurm.Partition, "time": &r.slurm.Time, "memory": &r.slurm.Memory,
	}
	for _, key := range r.keys(table, "slurm") {
		to, isText := texts[key]
		switch x := table[key].(type) {
		case string:
			if isText && strings.TrimSpace(x) != "" && !strings.ContainsAny(x, "\n\r") {
				*to = x
				continue
			}
		case int64:
			if key == "cpus" && x >= 1 && x <= 4096 {
				r.slurm.CPUs = int(x)
				continue
			}
		case []any:
			if lines, ok := textsOf(x); ok && key == "setup" {
				r.slurm.Setup = lines
				continue
			}
		}
		switch {
		case isText:
			r.fault("slurm.%s = %v, want a text of one line, as sbatch takes it", key, table[key])
		case key == "setup":
			r.fault("slurm.setup = %v, want a list of lines of shell", table[key])
		case key == "cpus":
			r.fault("slurm.cpus = %v, want a whole number in [1, 4096]", table[key])
		default:
			r.fault("%s", unknown("key", "slurm."+key, []string{"slurm.account", "slurm.partition", "slurm.time", "slurm.memory", "slurm.cpus", "slurm.setup"}))
		}
	}
}

// textsOf returns a list of texts.
func textsOf(list []any) ([]string, bool) {
	texts := make([]string, len(list))
	for i, x := range list {
		text, ok := x.(string)
		if !ok {
			return nil, false
		}
		texts[i] = text
	}
	return texts, true
}

// axisName is what an axis may be called: a column has its name.
var axisName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// The columns of a sweep's table beside axes and what the command prints.
const (
	pointColumn = "point"
	errorColumn = "error"
	axisPrefix  = "axis_" // before an axis that has the name of another column
)

func (r *reader) addAxis(a axis) {
	switch at := slices.IndexFunc(r.axes, func(b axis) bool { return a.name == b.name }); {
	case at >= 0:
		r.fault("%s and %s are one axis, want each name once", r.axes[at].where, a.where)
	case !axisName.MatchString(a.name):
		r.fault("%s: an axis is called by a letter, then letters, digits, - or _", a.where)
	case a.name == pointColumn, a.name == errorColumn, strings.HasPrefix(a.name, axisPrefix):
		r.fault("%s: want another name than %s, %s or %s..., which the table has", a.where, pointColumn, errorColumn, axisPrefix)
	default:
		r.axes = append(r.axes, a)
	}
}

// placeholder is where a text takes the value of an axis: {shape}.
var placeholder = regexp.MustCompile(`\{([A-Za-z][A-Za-z0-9_-]*)\}`)

// checkAxes finds out which axes placeholders take, and wants every other to be a flag.
func (r *reader) checkAxes() {
	for i, text := range r.args {
		r.place(fmt.Sprintf("args[%d]", i+1), text)
	}
	for _, f := range r.flags {
		for _, text := range f.value.texts {
			r.place("flags."+f.name, text)
		}
	}
	for _, a := range r.axes {
		for _, v := range a.values {
			for _, text := range v.texts {
				r.place(a.where, text)
			}
		}
	}
	for i, a := range r.axes {
		if a.placed && slices.ContainsFunc(a.values, func(v Value) bool { return v.list }) {
			r.fault("%s holds a list, which the placeholder {%s} cannot take; want single values", a.where, a.name)
		}
		if a.placed && r.reaches(i, i, len(r.axes)) {
			r.fault("%s leads to itself by its placeholders", a.where)
		}
	}
}

// place marks the axes that a text takes.
func (r *reader) place(where, text string) {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		at := r.axis(m[1])
		if at < 0 {
			var names []string
			for _, a := range r.axes {
				names = append(names, a.name)
			}
			r.fault("%s: {%s}: %s", where, m[1], unknown("axis", m[1], names))
			continue
		}
		r.axes[at].placed = true
	}
}

func (r *reader) axis(name string) int {
	return slices.IndexFunc(r.axes, func(a axis) bool { return a.name == name })
}

// reaches reports whether the values of one axis take those of another within so many
// steps.
func (r *reader) reaches(from, to, steps int) bool {
	if steps == 0 {
		return false
	}
	for _, v := range r.axes[from].values {
		for _, text := range v.texts {
			for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
				at := r.axis(m[1])
				if at == to || at >= 0 && r.reaches(at, to, steps-1) {
					return true
				}
			}
		}
	}
	return false
}

// noFlag says that a name is no flag that a file may set, nor an axis that stands
// anywhere.
func (r *reader) noFlag(name string, known []string) string {
	if slices.Contains(r.command.Withheld, name) {
		return fmt.Sprintf("--%s is not for a file to say; want one of %s", name, strings.Join(known, ", "))
	}
	text := fmt.Sprintf("%s has no flag --%s", r.command.Name, name)
	if r.axis(name) >= 0 {
		text += fmt.Sprintf(", and {%s} stands nowhere", name)
	}
	text += "; want one of " + strings.Join(known, ", ")
	if near, ok := spec.Nearest(name, known); ok {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return text
}

// checkFlags wants every flag, and every axis that no placeholder takes, to be a flag
// of the command, once, with values that it can be given.
func (r *reader) checkFlags() {
	var names []string
	for _, f := range r.command.Flags {
		names = append(names, f.Name)
	}
	check := func(where, name string, values []Value) {
		at := slices.Index(names, name)
		if at < 0 {
			r.fault("%s: %s", where, r.noFlag(name, names))
			return
		}
		f := r.command.Flags[at]
		for _, v := range values {
			switch {
			case f.Switch != (v.kind == Truth):
				want := "a number or a text"
				if f.Switch {
					want = "true or false"
				}
				r.fault("%s = %s, want %s", where, v, want)
			case v.list && !f.Repeats:
				r.fault("%s = %s is a list, and --%s is given once; want one value", where, v, name)
			}
		}
	}
	for _, f := range r.flags {
		check("flags."+f.name, f.name, []Value{f.value})
		if at := r.axis(f.name); at >= 0 && !r.axes[at].placed {
			r.fault("flags.%s and %s set one flag, want one of them", f.name, r.axes[at].where)
		}
	}
	for _, a := range r.axes {
		if !a.placed {
			check(a.where, a.name, a.values)
		}
	}
}
