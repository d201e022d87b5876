package merged

import (
	"slices"
	"strings"
)

// specs are the columns of specs, which may hold the value of an axis of the sweep.
var specs = []string{"population", "policy", "strategy", "estimator", "aggregate", "system", "optimizer"}

// mergeArms calls specs alike that stand at the same place in every point and differ only
// in parameters, such as those that an axis sets: vigor:rounds=2,alpha=0.5 of one point
// and vigor:rounds=4,alpha=0.5 of another are vigor:alpha=0.5. They stay as they are where
// points have different numbers of them, or names at one place differ.
func (t *Table) mergeArms() {
	for i, a := range t.Axes {
		if i < t.own || !slices.Contains(specs, a.Column) {
			continue
		}
		arms := t.arms(i)
		if arms == nil {
			continue
		}
		labels := make([]string, len(arms))
		for k, arm := range arms {
			labels[k] = common(arm)
			if labels[k] == "" || slices.Contains(labels[:k], labels[k]) {
				labels = nil
				break
			}
		}
		if labels == nil {
			continue
		}
		for k := range t.rows {
			if at := slices.IndexFunc(arms, func(arm []string) bool { return slices.Contains(arm, t.rows[k].values[i]) }); at >= 0 {
				t.rows[k].values[i] = labels[at]
			}
		}
	}
}

// arms returns what the points have at the first place of a column, at the second and so
// on; nil where they have different numbers of values, or one at two places.
func (t *Table) arms(axis int) [][]string {
	points := map[int][]string{}
	var order []int
	for _, r := range t.rows {
		if v := r.values[axis]; !r.failed && !slices.Contains(points[r.point], v) {
			if points[r.point] == nil {
				order = append(order, r.point)
			}
			points[r.point] = append(points[r.point], v)
		}
	}
	var arms [][]string
	place := map[string]int{}
	for i, point := range order {
		values := points[point]
		if i == 0 {
			arms = make([][]string, len(values))
		}
		if len(values) != len(arms) {
			return nil
		}
		for k, v := range values {
			earlier, known := place[v]
			if known && earlier != k {
				return nil
			}
			if !known {
				place[v] = k
				arms[k] = append(arms[k], v)
			}
		}
	}
	return arms
}

// common returns what specs of one name share, and "" for specs of several names.
func common(all []string) string {
	name, list, _ := strings.Cut(all[0], ":")
	shared := strings.Split(list, ",")
	for _, text := range all[1:] {
		other, list, _ := strings.Cut(text, ":")
		if other != name {
			return ""
		}
		have := strings.Split(list, ",")
		shared = slices.DeleteFunc(shared, func(p string) bool { return !slices.Contains(have, p) })
	}
	return strings.TrimSuffix(name+":"+strings.Join(shared, ","), ":")
}
