//go:build cgo

package cpu

// cgoEnabled tells whether this build can link C libraries.
const cgoEnabled = true
