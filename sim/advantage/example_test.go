package advantage_test

import (
	"fmt"
	"log"

	"vigorlab/sim/advantage"
)

func ExampleGRPO() {
	rewards := []float64{1, -1, -1, -1} // mean -1/2, sd sqrt(3)/2
	a := make([]float64, len(rewards))
	if err := (advantage.GRPO{}).Advantages(a, rewards); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", a) // sqrt(3) and -1/sqrt(3)
	// Output: [1.732 -0.577 -0.577 -0.577]
}
