package plots

import "fmt"

// Data is all that a figure is drawn from: a pointer to a struct of this package.
// Its fields are the schema of what commands keep of a figure, so that none is
// renamed.
type Data interface {
	// Kind names the kind of figure, as NewData takes it.
	Kind() string
	// Draw returns the figure.
	Draw() (Figure, error)
	// Table returns every number of the figure as it was handed in, in the figure's
	// order.
	Table() []Row
}

var (
	_ overlaid = (*AllocationData)(nil)
	_ overlaid = (*CalibrationData)(nil)
	_ overlaid = (*ComparisonData)(nil)
	_ overlaid = (*CostQualityData)(nil)
	_ overlaid = (*CurvesData)(nil)
	_ overlaid = (*EtaShapeData)(nil)
	_ Data     = (*GradientNormData)(nil)
	_ overlaid = (*GroupSizesData)(nil)
	_ Data     = (*PlanData)(nil)
	_ Data     = (*RanksData)(nil)
	_ Data     = (*HeatData)(nil)
	_ Data     = (*LinesData)(nil)
	_ overlaid = (*ScreeningData)(nil)
	_ overlaid = (*SpeedupData)(nil)
)

// The kinds of figures.
const (
	KindAllocation   = "allocation"
	KindCalibration  = "calibration"
	KindComparison   = "comparison"
	KindCostQuality  = "cost-quality"
	KindCurves       = "curves"
	KindEtaShape     = "eta-shape"
	KindGradientNorm = "gradient-norm"
	KindGroupSizes   = "group-sizes"
	KindHeat         = "heat"
	KindLines        = "lines"
	KindPlan         = "plan"
	KindRanks        = "ranks"
	KindScreening    = "screening"
	KindSpeedup      = "speedup"
)

// Kinds lists the kinds of figures.
func Kinds() []string {
	return []string{
		KindAllocation, KindCalibration, KindComparison, KindCostQuality, KindCurves, KindEtaShape,
		KindGradientNorm, KindGroupSizes, KindHeat, KindLines, KindPlan, KindRanks, KindScreening, KindSpeedup,
	}
}

// NewData returns the empty data of a kind, to be filled.
func NewData(kind string) (Data, error) {
	switch kind {
	case KindAllocation:
		return new(AllocationData), nil
	case KindCalibration:
		return new(CalibrationData), nil
	case KindComparison:
		return new(ComparisonData), nil
	case KindCostQuality:
		return new(CostQualityData), nil
	case KindCurves:
		return new(CurvesData), nil
	case KindEtaShape:
		return new(EtaShapeData), nil
	case KindGradientNorm:
		return new(GradientNormData), nil
	case KindGroupSizes:
		return new(GroupSizesData), nil
	case KindHeat:
		return new(HeatData), nil
	case KindLines:
		return new(LinesData), nil
	case KindPlan:
		return new(PlanData), nil
	case KindRanks:
		return new(RanksData), nil
	case KindScreening:
		return new(ScreeningData), nil
	case KindSpeedup:
		return new(SpeedupData), nil
	}
	return nil, fmt.Errorf("plots: kind = %q, want one of %q", kind, Kinds())
}

func (*AllocationData) Kind() string   { return KindAllocation }
func (*CalibrationData) Kind() string  { return KindCalibration }
func (*ComparisonData) Kind() string   { return KindComparison }
func (*CostQualityData) Kind() string  { return KindCostQuality }
func (*CurvesData) Kind() string       { return KindCurves }
func (*EtaShapeData) Kind() string     { return KindEtaShape }
func (*GradientNormData) Kind() string { return KindGradientNorm }
func (*GroupSizesData) Kind() string   { return KindGroupSizes }
func (*HeatData) Kind() string         { return KindHeat }
func (*LinesData) Kind() string        { return KindLines }
func (*PlanData) Kind() string         { return KindPlan }
func (*RanksData) Kind() string        { return KindRanks }
func (*ScreeningData) Kind() string    { return KindScreening }
func (*SpeedupData) Kind() string      { return KindSpeedup }

func (d *AllocationData) Draw() (Figure, error)   { return Allocation(*d) }
func (d *CalibrationData) Draw() (Figure, error)  { return Calibration(*d) }
func (d *ComparisonData) Draw() (Figure, error)   { return Comparison(*d) }
func (d *CostQualityData) Draw() (Figure, error)  { return CostQuality(*d) }
func (d *CurvesData) Draw() (Figure, error)       { return Curves(*d) }
func (d *EtaShapeData) Draw() (Figure, error)     { return EtaShape(*d) }
func (d *GradientNormData) Draw() (Figure, error) { return GradientNorm(*d) }
func (d *GroupSizesData) Draw() (Figure, error)   { return GroupSizes(*d) }
func (d *HeatData) Draw() (Figure, error)         { return Heat(*d) }
func (d *LinesData) Draw() (Figure, error)        { return Lines(*d) }
func (d *PlanData) Draw() (Figure, error)         { return Plan(*d) }
func (d *RanksData) Draw() (Figure, error)        { return Ranks(*d) }
func (d *ScreeningData) Draw() (Figure, error)    { return Screening(*d) }
func (d *SpeedupData) Draw() (Figure, error)      { return Speedup(*d) }
