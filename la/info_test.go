package la_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/mat"
)

// TestWorkersVariable: the environment says how many workers there are where the options do
// not, and what makes no sense is refused by all that would go by it.
func TestWorkersVariable(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Setenv("TESSERA_WORKERS", fmt.Sprint(n))
		e := start(t, la.Options{Float: true})
		if x := e.Info(); len(e.Workers()) != n || x.Workers != n || x.WorkersBy != "environment" || x.Pinned {
			t.Errorf("%d workers, %+v; want %d", len(e.Workers()), x, n)
		}
		var none *la.Engine
		if x := none.Info(); x.Workers != n || x.WorkersBy != "environment" {
			t.Errorf("a nil engine: %+v", x)
		}
		if x := start(t, la.Options{Workers: 2}).Info(); x.Workers != 2 || x.WorkersBy != "options" {
			t.Errorf("options: %+v", x)
		}
	}
	a := mat.NewDense(700, 700, nil)
	for _, bad := range []string{"0", "-1", "two", "1.5", "99999999999", " 2"} {
		t.Setenv("TESSERA_WORKERS", bad)
		var options *la.OptionsError
		if _, err := la.NewEngine(la.Options{}); !errors.As(err, &options) || !strings.Contains(err.Error(), fmt.Sprintf("TESSERA_WORKERS=%q, want a whole number from 1 to 16384", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := la.Mul(new(mat.Dense), a, a); err == nil || !strings.Contains(err.Error(), "TESSERA_WORKERS") {
			t.Errorf("%q, without an engine: %v", bad, err)
		}
		var none *la.Engine
		if x := none.Info(); x.Workers != 0 || !strings.Contains(x.WorkersBy, "TESSERA_WORKERS") {
			t.Errorf("%q: %+v", bad, x)
		}
		start(t, la.Options{Workers: 1}) // does not look
	}
}

// TestInfo: the versions are those that the engine takes, and both forms tell them.
func TestInfo(t *testing.T) {
	t.Setenv("TESSERA_WORKERS", "")
	x := start(t, la.Options{Workers: 2, Only: []string{"go"}, Static: true}).Info()
	if x.Versions["gemm/f64"] != "go" || x.Versions["potrf/f32"] != "go" || x.Workers != 2 || x.Policy != "priority" ||
		!strings.HasPrefix(x.Module, "github.com/tessera-la/tessera") || x.Processor == "" || x.Go == "" {
		t.Errorf("%+v", x)
	}
	own := la.Options{Workers: 1, NewPolicy: func(m dispatch.Machine) dispatch.Policy { return dispatch.New(dispatch.FIFO, m) }}
	if x := start(t, own).Info(); x.Policy != "own" {
		t.Errorf("of a program's own policy: %+v", x)
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	if x := start(t, la.Options{Runtime: rt}).Info(); x.Policy != "the runtime's" {
		t.Errorf("of a program's own runtime: %+v", x)
	}
	// What users know comes first.
	if text := x.String(); strings.Index(text, "gemm/f64") > strings.Index(text, "tntleaf/") || strings.Index(text, "potrf/f64") > strings.Index(text, "asum/") ||
		!strings.Contains(text, "go: gemm/f64 gemm/f32 syrk/f64") {
		t.Errorf("the order of\n%v", text)
	}
	for _, want := range []string{"workers: 2 (options)", "go: ", "gemm/f64"} {
		if !strings.Contains(x.String(), want) {
			t.Errorf("no %q in\n%v", want, x)
		}
	}
	for _, p := range []string{x.Processor, "AMD EPYC 9B45 128-Core Processor, as a hypervisor shows it to 2 of its guests"} {
		x.Processor = p
		for line := range strings.Lines(x.String()) {
			if utf8.RuneCountInString(line) > 81 || strings.TrimSpace(line) == "" {
				t.Errorf("%q in\n%v", line, x)
			}
		}
	}
	text, err := json.Marshal(x)
	var back engine.Info
	if err != nil || json.Unmarshal(text, &back) != nil || back.Versions["gemm/f64"] != "go" || back.Workers != 2 {
		t.Errorf("%s, %v", text, err)
	}
	var none *la.Engine
	if x := none.Info(); x.Workers < 1 || x.WorkersBy != "machine" || x.Versions["gemm/f64"] == "" {
		t.Errorf("a nil engine: %+v", x)
	}
}
