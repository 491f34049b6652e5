package sweep

import (
	"fmt"
	"io"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

// MaxPoints bounds the number of combinations.
const MaxPoints = 10000

// Count returns the number of combinations of elements of lists with the given lengths. If there are more than
// MaxPoints, the error says that so many cannot be done at once, where done is a word such as "run".
func Count(done string, lengths ...int) (int, error) {
	n := 1.0
	for _, l := range lengths {
		n *= float64(l)
	}
	if n > MaxPoints {
		return 0, fmt.Errorf("%.0f combinations are too many; at most %d can be %s at once", n, MaxPoints, done)
	}
	return int(n), nil
}

// Grid returns the point of each combination. point gets the index into each list; that of the last list varies
// fastest. The error is that of [Count].
func Grid[P any](done string, point func(i []int) P, lengths ...int) ([]P, error) {
	n, err := Count(done, lengths...)
	if err != nil {
		return nil, err
	}
	points := make([]P, 0, n)
	i := make([]int, len(lengths))
	for range n {
		points = append(points, point(i))
		for k := len(i) - 1; k >= 0; k-- {
			if i[k]++; i[k] < lengths[k] {
				break
			}
			i[k] = 0
		}
	}
	return points, nil
}

// Each runs the points in order and shows each result, until run or show returns an error. Meanwhile a status line on
// a terminal counts the points, with what run says.
func Each[P, R any](a *cli.App, points []P, run func(p P, say func(format string, args ...any)) (R, error), show func(R) error) error {
	line := report.NewStatus(a.Err)
	defer line.Clear()
	for i, p := range points {
		r, err := run(p, func(format string, args ...any) {
			line.Set("%d/%d  %s", i+1, len(points), fmt.Sprintf(format, args...))
		})
		line.Clear()
		if err == nil {
			err = show(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Print prints a result, as a line of JSON or as the text that row returns.
func Print(a *cli.App, asJSON bool, result any, row func() string) error {
	if asJSON {
		return a.Object(result)
	}
	_, err := io.WriteString(a.Out, row())
	return err
}
