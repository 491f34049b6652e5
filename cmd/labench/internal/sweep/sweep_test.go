package sweep_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/sweep"
	"github.com/tessera-la/tessera/internal/cli"
)

// The last list varies fastest, and an empty list leaves nothing.
func TestGrid(t *testing.T) {
	pair := func(i []int) [2]int { return [2]int{i[0], i[1]} }
	got, err := sweep.Grid("run", pair, 2, 3)
	if want := [][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := sweep.Grid("run", pair, 2, 0); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := sweep.Grid("run", pair, 1<<20, 1<<20); err == nil || err.Error() != "1099511627776 combinations are too many; at most 10000 can be run at once" {
		t.Errorf("error is %v", err)
	}
}

// Each shows what ran before an error, and nothing after it.
func TestEach(t *testing.T) {
	broken := errors.New("broken")
	var out, status bytes.Buffer
	a := &cli.App{Out: &out, Err: &status}
	err := sweep.Each(a, []int{1, 2, 3, 4}, func(p int, say func(string, ...any)) (int, error) {
		say("%d …", p)
		if p == 3 {
			return 0, broken
		}
		return p * p, nil
	}, func(r int) error { return sweep.Print(a, true, r, nil) })
	if !errors.Is(err, broken) || out.String() != "1\n4\n" || status.Len() > 0 {
		t.Errorf("%v, printed %q and %q", err, &out, &status)
	}
}
