//go:build !race

package test

const underRaceDetector = false
