//go:build !(cgo && openblas && lapacke)

package dropin_test

// libraries returns the implementations of C libraries: this build has none.
func libraries() []implementation { return nil }
