// Package browser opens pages of the project in a headless Chromium, for tests
// alone: what a page asks for and complains of, how it looks at a size and in a
// colour scheme, what a click or a key does. It refuses to judge a page, and
// nothing that a page asks for beyond this machine is resolved.
//
// To build the protocol for the race detector takes longer than all tests of pages:
// what imports this package is built without it (//go:build !race), in a package of
// NO_RACE in the Makefile, which a test here checks.
package browser
