package formula

// What a comparison may spend.
const (
	MaxVisits = maxVisits
	MaxPairs  = maxPairs
	MaxWork   = maxWork
)

// Spent returns what comparing two answers spends: parts evaluated, parts compared
// with parts, factors of factorials. What was begun is more than a bound allows.
func Spent(got, want string, tolerance float64) (visits, pairs, work int) {
	a, err := read(got)
	if err != nil {
		return 0, 0, 0
	}
	b, err := read(want)
	if err != nil {
		return 0, 0, 0
	}
	c := newComparison(tolerance)
	c.values(a.value, b.value)
	return maxVisits - c.visits, maxPairs - c.pairs, maxWork - c.work
}
