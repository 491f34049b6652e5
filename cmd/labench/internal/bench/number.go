package bench

import "encoding/json"

// Number is a number that JSON may not be able to hold.
type Number float64

// MarshalJSON writes NaN and infinities as null.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// Finite reports whether x is neither NaN nor infinite.
func (x Number) Finite() bool { return x-x == 0 }

// Check is one of several residuals of a result.
type Check struct {
	Formula  string `json:"formula"` // in words
	Residual Number `json:"residual"`
	Limit    Number `json:"limit"` // Residual must be below it
}
