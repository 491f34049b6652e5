package cli

import (
	"fmt"
	"strings"
)

// SweepError reports the points of a sweep whose result was wrong, or that could not be run.
type SweepError struct {
	Failed []FailedPoint
	Total  int
}

// FailedPoint is a point of a sweep, and what is wrong with it.
type FailedPoint struct{ Point, Why string }

// Error states each reason once, with its points.
func (e *SweepError) Error() string {
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
