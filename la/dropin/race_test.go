//go:build race

package dropin_test

// raceEnabled tells whether the race detector slows everything down.
const raceEnabled = true
