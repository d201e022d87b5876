package distributions_test

import (
	"fmt"
	"log"

	"vigorlab/distributions"
)

func ExampleNewSpikedBeta() {
	law, err := distributions.NewSpikedBeta(0.3, 0.1, 2, 6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean success rate %.3f\n", law.MeanP())    // 0.1 + 0.6 * 2/8
	fmt.Printf("mean reward variance %.3f\n", law.MeanU()) // 0.6 * 4 * 2*6/(8*9)
	fmt.Printf("without any %.3f\n", law.CDFU(0))          // 0.3 + 0.1
	// Output:
	// mean success rate 0.250
	// mean reward variance 0.400
	// without any 0.400
}

func ExampleVarianceLaw_topU() {
	law, err := distributions.NewAtoms([]distributions.Node{{P: 0, W: 0.5}, {P: 0.25, W: 0.25}, {P: 0.5, W: 0.25}})
	if err != nil {
		log.Fatal(err)
	}
	// The best quarter has u = 1; the next eighth is half of those with u = 3/4.
	fmt.Printf("%.3f %.3f\n", law.TopU(0.25), law.TopU(0.375)) // 1/4, 1/4 + 3/4 * 1/8
	// Output: 0.250 0.344
}

func ExampleLevel() {
	fmt.Println(distributions.U(0.9) >= 0.36, distributions.Level(0.9) >= 0.36) // 4 * 0.9 * 0.1
	// Output: false true
}

func ExampleNewLengthLaw() {
	law, err := distributions.NewLengthLaw(1000, 0, 2, 1500)
	if err != nil {
		log.Fatal(err)
	}
	// 1000 e^(2 (1/2 - p)): 1000 e at p = 0, cut off at 1500, and 1000/e at p = 1
	fmt.Printf("%.0f %.0f %.0f\n", law.Mean(0), law.Mean(0.5), law.Mean(1))
	// Output: 1500 1000 368
}
