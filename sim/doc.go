// Package sim holds the Monte Carlo engine: streams, batches, replicates and
// estimates with standard errors. It draws, and refuses the formulas of theory.
package sim
