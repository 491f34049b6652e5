//go:build race

package cpu

// raceEnabled tells whether the race detector slows everything down.
const raceEnabled = true
