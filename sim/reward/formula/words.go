package formula

import "strings"

// A measure is what a unit stands for: its dimension, and how many of the
// dimension's first unit it is; of degrees and percent the expression itself says.
type measure struct {
	dimension string
	factor    *node
}

// units are those that convert. Where two answers have other ones, the words are
// compared.
var units = map[string]measure{}

func init() {
	for _, row := range []struct {
		dimension string
		over      int64
		under     int64
		names     string
	}{
		{"length", 1, 1, "m meter metre"},
		{"length", 1, 1000, "mm millimeter millimetre"},
		{"length", 1, 100, "cm centimeter centimetre"},
		{"length", 1000, 1, "km kilometer kilometre"},
		{"length", 127, 5000, "in inch inche"},
		{"length", 381, 1250, "ft foot feet"},
		{"length", 1143, 1250, "yd yard"},
		{"length", 201168, 125, "mi mile"},
		{"mass", 1, 1, "g gram"},
		{"mass", 1, 1000, "mg milligram"},
		{"mass", 1000, 1, "kg kilogram"},
		{"mass", 45359237, 100000, "lb pound"},
		{"mass", 45359237, 1600000, "oz ounce"},
		{"time", 1, 1, "s sec second"},
		{"time", 60, 1, "min minute"},
		{"time", 3600, 1, "h hr hour"},
		{"time", 86400, 1, "day"},
		{"time", 604800, 1, "week"},
		{"volume", 1, 1, "L l liter litre"},
		{"volume", 1, 1000, "ml mL milliliter millilitre"},
		{"money", 1, 1, "dollar usd USD buck"},
		{"money", 1, 100, "cent"},
	} {
		for name := range words(row.names) {
			units[name] = measure{row.dimension, join(opDivide, integer(row.over), integer(row.under))}
		}
	}
	units["degree"] = measure{"angle", join(opDegree, integer(1))}
	units["deg"] = units["degree"]
	units["radian"] = measure{"angle", integer(1)}
	units["rad"] = units["radian"]
	units["percent"] = measure{"share", join(opPercent, integer(1))}
}

// noUnits are words that name no unit: 12 square units is 12.
var noUnits = words("unit units")

// abbreviations are units that do not convert, and would else be letters side by
// side.
var abbreviations = words("mph kph kmh rpm fps bpm psi ppm kwh kWh gal pcs sq cu")

// isUnit reports whether a word is a unit, and no letters side by side.
func isUnit(word string) bool {
	_, ok := units[word]
	_, plural := units[strings.TrimSuffix(word, "s")]
	return ok || plural || noUnits[word] || abbreviations[word]
}

// multiples are words that multiply the number before them.
var multiples = map[string]int64{
	"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}

// multiple takes the words that multiply off the words behind a number.
func multiple(words string) (factor int64, rest string) {
	factor, rest = 1, words
	for {
		word, more, _ := strings.Cut(rest, " ")
		m := multiples[strings.TrimSuffix(strings.ToLower(word), "s")]
		if m == 0 || factor > 1e12 {
			return factor, rest
		}
		factor, rest = factor*m, more
	}
}

// currencies are the signs of money, by what they stand for.
var currencies = map[string]string{`\$`: "dollar", "€": "euro", "£": "pound sterling", "¥": "yen", "₹": "rupee", "¢": "cent"}

// unitOf returns the measure of a unit in words, known for one that converts,
// and the words without what does not count.
func unitOf(words string) (m measure, rest string, known bool) {
	var parts []string
	power := 1
	for _, w := range strings.Fields(words) {
		switch base := strings.TrimSuffix(strings.ToLower(w), "s"); {
		case base == "square" || base == "sq":
			power = 2
		case base == "cubic" || base == "cu":
			power = 3
		case noUnits[strings.TrimRight(strings.ToLower(w), "^23")]:
		default:
			if _, ok := units[w]; ok {
				base = w
			}
			parts = append(parts, base)
		}
	}
	if len(parts) == 0 {
		return measure{}, "", false
	}
	if len(parts) == 1 {
		for p, suffix := range []string{2: "^2", 3: "^3"} {
			if bare, ok := strings.CutSuffix(parts[0], suffix); ok && suffix != "" {
				parts[0], power = strings.TrimSuffix(bare, "s"), p
			}
		}
		if m, known = units[parts[0]]; known && power > 1 {
			m = measure{m.dimension + "^" + string(rune('0'+power)), join(opPower, m.factor, integer(int64(power)))}
		}
	}
	rest = strings.Join(parts, " ")
	if power > 1 {
		rest += "^" + string(rune('0'+power))
	}
	return m, rest, known
}

// readProse reads tokens as text: without case, articles and full stops.
func readProse(tokens []token) *value {
	var parts []string
	for _, t := range tokens {
		switch text := strings.ToLower(t.text); {
		case t.kind == tokenWord && (text == "the" || text == "a" || text == "an"):
		case text == "." || text == "{" || text == "}":
		case t.kind == tokenCommand || t.kind == tokenLetter || t.kind == tokenNumber:
			parts = append(parts, t.text)
		default:
			parts = append(parts, text)
		}
	}
	v := &value{shape: prose, text: strings.Join(parts, " ")}
	if noSolutions[v.text] {
		return group(list)
	}
	return v
}

// noSolutions are words for the empty set.
var noSolutions = map[string]bool{
	"no solution": true, "no solutions": true, "no real solution": true, "no real solutions": true, "empty set": true,
}

// exclusive are words of which two cannot both be right.
var exclusive = []map[string]bool{
	words("yes no"), words("true false"), words("even odd neither both"), words("odd even"),
	words("monday tuesday wednesday thursday friday saturday sunday"),
	words("january february march april may june july august september october november december"),
	words("increasing decreasing"), words("convergent divergent"), words("converges diverges"), words("north south east west"),
	words("positive negative zero"), words("left right"), words("red green blue yellow black white orange purple"),
	words("heads tails"), words("rational irrational"), words("parallel perpendicular"),
}

// excludes reports whether two texts are different words of one such list.
func excludes(a, b string) bool {
	for _, list := range exclusive {
		if a != b && list[a] && list[b] {
			return true
		}
	}
	return false
}
