package report_test

import (
	"testing"

	"github.com/tessera-la/tessera/internal/report"
)

// Words are cut to their column, numbers never are, and colour takes no room.
func TestTable(t *testing.T) {
	table, p := report.NewTable("word", -6, "n", 4, "last", 5), report.Paint{On: true}
	for _, c := range []struct{ got, want string }{
		{table.Head(), "word      n  last\n"},
		{table.Row("µs", p.Bold("2"), ""), "µs        \x1b[1m2\x1b[0m\n"},
		{table.Row("a long word", 1234567, 1.5), "a lon… 1234567   1.5\n"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if table.Width() != 17 {
		t.Errorf("width %d", table.Width())
	}
}
