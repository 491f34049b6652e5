package exec

import "fmt"

// InUseError says that an accelerator serves another runtime.
type InUseError struct{ Accelerator string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("exec: the accelerator %s serves another runtime", e.Accelerator)
}

// claimAll has all accelerators serve one runtime, or none.
func claimAll(all []Accelerator) error {
	for i, a := range all {
		if !a.Claim() {
			releaseAll(all[:i])
			return &InUseError{a.Name()}
		}
	}
	return nil
}

func releaseAll(all []Accelerator) {
	for _, a := range all {
		a.Release()
	}
}
