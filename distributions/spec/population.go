package spec

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"vigorlab/distributions"
)

// A Population is a parsed population spec. Exactly one of Law and Variance is
// the fullest view: Variance is always set, Law is nil for a law without
// rewards (pareto-variance without max), and Lengths is nil where lengths are
// unknown.
type Population struct {
	Spec     string // normalised; parses to itself
	Variance distributions.VarianceLaw
	Law      distributions.Law
	Lengths  *distributions.LengthLaw
	Noisy    bool // label noise is in it: successes are those rewarded, and not what a policy can do
}

// ParsePopulation reads a population spec such as `beta:a=0.1,b=0.3`, or
// `@FILE` that holds one. open opens the files that a spec names; with nil
// there are none. All faults of a spec are reported at once.
func ParsePopulation(text string, open Opener) (Population, error) {
	if open == nil {
		open = noFiles
	}
	text, err := Expand(text, open)
	if err != nil {
		return Population{}, err
	}
	if name, body, _ := strings.Cut(text, ":"); strings.TrimSpace(name) == nameMixture {
		return parseMixture(body, open)
	}
	return parseLaw(text, open)
}

func noFiles(path string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("open %s: no files can be read here", path)
}

// parseLaw reads any spec but a mixture.
func parseLaw(text string, open Opener) (Population, error) {
	if name, body, _ := strings.Cut(text, ":"); strings.TrimSpace(name) == nameFlip {
		return parseFlip(body, open)
	}
	s, err := Parse(text)
	if s.Name == "" {
		return Population{}, err
	}
	kinds := populationKinds()
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
		if k.Name == s.Name && k.read != nil {
			r := &reader{Args: NewArgs(s), parameters: k.Parameters, open: open}
			p := k.read(r)
			if err := errors.Join(err, r.Err()); err != nil {
				return Population{}, err
			}
			p.Spec = r.Normal().String()
			return p, nil
		}
	}
	return Population{}, errors.Join(UnknownName(s.Name, names), err)
}

// parseFlip reads q=Q@spec.
func parseFlip(body string, open Opener) (Population, error) {
	before, inner, at := strings.Cut(body, "@")
	text := nameFlip
	if strings.TrimSpace(before) != "" {
		text += ":" + before
	}
	s, err := Parse(text)
	a := NewArgs(s)
	q := a.Float("q", math.NaN(), "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	a.Add(err)
	if !at {
		a.Add(errors.New("the population is missing, want flip:q=0.05@POPULATION"))
		return Population{}, a.Err()
	}
	p, err := ParsePopulation(inner, open)
	switch {
	case err != nil:
		a.Add(err)
	case p.Law == nil:
		a.Add(errors.New("max is missing, want (min, 1]: an unbounded law has no rewards to turn round"))
	}
	if err := a.Err(); err != nil {
		return Population{}, err
	}
	law, err := distributions.NewFlip(q, p.Law)
	lengths := p.Lengths
	if lengths != nil {
		var fault error
		lengths, fault = lengths.Flipped(q)
		err = errors.Join(err, fault)
	}
	if err != nil {
		return Population{}, errors.Join(under(nameFlip, err)...)
	}
	return Population{Spec: a.Normal().String() + "@" + p.Spec, Variance: law, Law: law, Lengths: lengths, Noisy: true}, nil
}

// parseMixture reads W@spec+W@spec.
func parseMixture(body string, open Opener) (Population, error) {
	var errs []error
	var weights []float64
	var laws []distributions.Law
	var parts []string
	var lengths []*distributions.LengthLaw
	noisy := false
	for i, part := range splitMixture(body) {
		weight, p, err := parseComponent(part, open)
		if err != nil {
			errs = append(errs, under(fmt.Sprintf("%s: component %d", nameMixture, i+1), err)...)
			continue
		}
		noisy = noisy || p.Noisy
		weights, laws, lengths = append(weights, weight), append(laws, p.Law), append(lengths, p.Lengths)
		parts = append(parts, FormatFloat(weight)+"@"+p.Spec)
	}
	if len(errs) > 0 {
		return Population{}, errors.Join(errs...)
	}
	law, err := distributions.NewMixture(weights, laws)
	errs = under(nameMixture, err)
	for _, l := range lengths {
		if !l.Equal(lengths[0]) {
			errs = append(errs, fmt.Errorf("%s: the components differ in their tokens keys, want the same in all of them, or none", nameMixture))
			break
		}
	}
	if len(errs) > 0 {
		return Population{}, errors.Join(errs...)
	}
	return Population{Spec: nameMixture + ":" + strings.Join(parts, "+"), Variance: law, Law: law, Lengths: lengths[0], Noisy: noisy}, nil
}

// splitMixture splits at every + before a weight: a number, then @. Others,
// as in 1e+5 or in a path, belong to a component.
func splitMixture(body string) []string {
	var parts []string
	start := 0
	for i := range len(body) {
		if body[i] != '+' {
			continue
		}
		weight, _, found := strings.Cut(body[i+1:], "@")
		if _, err := strconv.ParseFloat(strings.TrimSpace(weight), 64); found && err == nil {
			parts = append(parts, body[start:i])
			start = i + 1
		}
	}
	return append(parts, body[start:])
}

// parseComponent reads W@spec.
func parseComponent(text string, open Opener) (float64, Population, error) {
	number, body, found := strings.Cut(text, "@")
	weight, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	body = strings.TrimSpace(body)
	name, _, _ := strings.Cut(body, ":")
	switch {
	case !found || err != nil || !(weight > 0 && weight <= 1):
		return 0, Population{}, fmt.Errorf("%.80q, want WEIGHT@SPEC with a weight in (0, 1]", text)
	case strings.TrimSpace(name) == nameMixture:
		return 0, Population{}, errors.New("a mixture inside a mixture, want its components here with their weights multiplied")
	}
	p, err := parseLaw(body, open)
	if err == nil && p.Law == nil {
		err = fmt.Errorf("%s: max is missing, want (min, 1]: an unbounded law has no rewards to mix", strings.TrimSpace(name))
	}
	return weight, p, err
}

// under puts a prefix before every one of joined errors.
func under(prefix string, err error) []error {
	a := NewArgs(Spec{Name: prefix})
	a.Add(err)
	return a.errs
}

// A reader reads the parameters of one kind of population.
type reader struct {
	*Args
	parameters []Parameter
	open       Opener
}

// number reads a finite parameter; its range is for the law to check.
func (r *reader) number(key string) float64 {
	p := r.parameter(key)
	missing := math.NaN()
	if p.Default != "" {
		missing, _ = strconv.ParseFloat(p.Default, 64) // written in this package
	}
	return r.Float(key, missing, p.Range, func(float64) bool { return true })
}

func (r *reader) parameter(key string) Parameter {
	for _, p := range r.parameters {
		if p.Name == key {
			return p
		}
	}
	panic("spec: parameter " + key + " is not listed")
}

// file opens the file that path= names and reads it; what fails is a fault.
func (r *reader) file(read func(f io.Reader, name string) error) {
	path, given := r.Text("path")
	if !given {
		r.Add(errors.New("path is missing, want a file"))
		return
	}
	r.Keep("path", path)
	f, err := r.open(path)
	if err != nil {
		r.Add(err)
		return
	}
	defer f.Close() // only read
	r.Add(read(f, path))
}

// law finishes a population that gives rewards: err is what its constructor
// said. The keys of its length law come last.
func (r *reader) law(law distributions.Law, err error) Population {
	r.Add(err)
	return Population{Variance: law, Law: law, Lengths: r.lengths()}
}

// lengths reads the keys of the length law, nil where there are none.
func (r *reader) lengths() *distributions.LengthLaw {
	if _, given := r.Text("tokens"); !given {
		for _, key := range []string{"tokens-sd", "tokens-slope", "tokens-cap"} {
			if _, given := r.Text(key); given {
				r.Add(fmt.Errorf("tokens is missing, want %s: %s needs it", r.parameter("tokens").Range, key))
			}
		}
		return nil
	}
	tokens := r.number("tokens")
	half := tokens / 2
	if math.IsNaN(half) {
		half = 0 // tokens was reported already
	}
	sd := r.Float("tokens-sd", half, r.parameter("tokens-sd").Range, func(float64) bool { return true })
	slope := r.number("tokens-slope")
	limit := math.Inf(1)
	if _, given := r.Text("tokens-cap"); given {
		limit = r.number("tokens-cap")
	}
	lengths, err := distributions.NewLengthLaw(tokens, sd, slope, limit)
	r.Add(err)
	return lengths
}

// refuseLengths reports the keys of a length law as faults.
func (r *reader) refuseLengths(want string) {
	for _, key := range []string{"tokens", "tokens-sd", "tokens-slope", "tokens-cap"} {
		if value, given := r.Text(key); given {
			r.Fault(key, value, want)
		}
	}
}

func readParetoVariance(r *reader) Population {
	shape, low := r.number("shape"), r.number("min")
	if _, given := r.Text("max"); given {
		high, hard := r.number("max"), r.number("hard")
		return r.law(law(distributions.NewParetoVariance(shape, low, high, hard)))
	}
	hard := r.number("hard")
	if !(hard >= 0 && hard <= 1) && !math.IsNaN(hard) {
		r.Fault("hard", hard, r.parameter("hard").Range)
	}
	r.refuseLengths("it only with max: without, the law has no rewards")
	law, err := distributions.NewUnboundedPareto(shape, low)
	r.Add(err)
	return Population{Variance: law}
}
