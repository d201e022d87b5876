package theory_test

import (
	"fmt"
	"log"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/theory"
)

func ExampleEtaPareto() {
	// alpha*gamma = 1 and q = 2^(1/1.5) = 1.587: (q^4 - 1) / (4(q - 1))
	eta, err := theory.EtaPareto(1.5, 0.5, 2, 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("eta %.3f, speedup %.3f\n", eta, theory.Speedup(eta, 1./3))
	// Output: eta 2.277, speedup 1.316
}

func ExampleVigorMeanField() {
	m, err := theory.VigorMeanField(distributions.NewUniform(), schedule.Default(), 0.75, theory.DefaultNodes)
	if err != nil {
		log.Fatal(err)
	}
	// 0.571 of the groups, but only 0.179 of the rollouts: those of 2 are half
	// of the groups and an eighth of the rollouts.
	fmt.Printf("eta %.3f, zero-variance groups %.3f, ineffective %.3f\n", m.Eta, m.ZeroVarianceGroups, m.Ineffective)
	// Output: eta 1.192, zero-variance groups 0.571, ineffective 0.179
}
