//go:build race

package test

// The program is built with the race detector too: most of the code under test runs in it.
const underRaceDetector = true
