package sweep

import (
	"fmt"
	"strings"
)

// Error reports the points whose result was wrong, or that could not be run.
type Error struct {
	Failed []Failure
	Total  int
}

// Failure is a point, and what is wrong with it.
type Failure struct{ Point, Why string }

// Error states each reason once, with its points.
func (e *Error) Error() string {
	points, reasons := map[string][]string{}, []string(nil)
	for _, f := range e.Failed {
		if points[f.Why] == nil {
			reasons = append(reasons, f.Why)
		}
		points[f.Why] = append(points[f.Why], f.Point)
	}
	for i, why := range reasons {
		reasons[i] = strings.Join(points[why], ", ") + ": " + why
	}
	return fmt.Sprintf("%d of %d points failed: %s", len(e.Failed), e.Total, strings.Join(reasons, "; "))
}

// Err returns e, or nil if no point failed.
func (e *Error) Err() error {
	if e.Failed == nil {
		return nil
	}
	return e
}
