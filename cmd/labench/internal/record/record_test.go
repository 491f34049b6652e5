package record

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/cli"
)

// What is recorded of a run does not depend on what was asked for: edges are
// kept only for those who need them.
func TestRecordOnlyWhatIsNeeded(t *testing.T) {
	for _, test := range []struct {
		flags            Flags
		records, depends bool
	}{
		{Flags{}, false, false},
		{Flags{Monitor: "127.0.0.1:0"}, true, false},
		{Flags{report: true}, true, true},
		{Flags{dot: "x.dot"}, true, true},
		{Flags{Trace: "x.prv"}, true, true},
		{Flags{Recording: "x.json"}, true, true},
	} {
		s := bench.Spec{Problem: bench.Problem{Op: "gemm"}}
		r, err := test.flags.Begin(&cli.App{Out: io.Discard, Err: io.Discard}, &s, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.End()
		if (s.Trace != nil) != test.records || s.Trace != nil && s.Trace.Dependencies != test.depends || (s.Recorded != nil) != test.depends {
			t.Errorf("%+v: %+v", test.flags, s)
		}
	}
	if n := TasksOf(&trace.Recording{Events: []trace.Event{{Task: 1}, {}, {Task: 2}}}); n != 2 {
		t.Errorf("%d tasks", n)
	}
}

func TestTraceFormats(t *testing.T) {
	for file, want := range map[string][]string{"a/b.prv": {"a/b.prv", "a/b.pcf", "a/b.row"}, "x.y.JSON": {"x.y.JSON"}} {
		files, errs := (&Flags{Trace: file}).files()
		if len(files) != 1 || errs != nil || !slices.Equal(files[0].paths, want) {
			t.Errorf("%s: %v, %v", file, files, errs)
		}
	}
	for _, file := range []string{"x", "x.txt", "prv"} {
		var bad *cli.ListError
		if _, errs := (&Flags{Trace: file}).files(); !errors.As(errors.Join(errs...), &bad) {
			t.Errorf("%s: %v", file, errs)
		}
	}
}
