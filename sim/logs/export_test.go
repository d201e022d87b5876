package logs

// A Defect is a row of the table of defects, for tests.
type Defect struct {
	ID, Wording string
	Action      Action
}

// Defects lists the table.
func Defects() []Defect {
	list := make([]Defect, len(defects))
	for i, d := range defects {
		list[i] = Defect{d.ID, d.Wording, d.Action}
	}
	return list
}

// MaxAttempts is how often steps may go back.
const MaxAttempts = maxAttempts
