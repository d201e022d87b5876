// Package theory holds closed forms, bounds and the exact mean field of
// rollout allocation as pure functions, each with its domain, units and source.
// It refuses randomness.
package theory
