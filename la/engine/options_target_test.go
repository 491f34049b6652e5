package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// A declaration that fits nothing is refused, by Validate and by NewEngine.
func TestTarget(t *testing.T) {
	here := exec.Here()
	table := op.NewTable()
	gemm := table.Op("gemm", "f64")
	table.Add(gemm, versions.Version{Name: "many", Run: gemm.Version("go").Run,
		Constraints: versions.Constraints{Processor: "Abacus", Units: 4}})
	for _, test := range []struct {
		target versions.Target
		want   string // a part of the problem; empty: there is none
	}{
		{versions.Target{}, ""},
		{*here, ""},
		{versions.Target{Processor: "ABACUS", Units: 4}, ""},
		{versions.Target{Processor: "Wooden Abacus 7 (large)", Units: 3}, ""},
		{versions.Target{Processor: here.Processor, Units: 1}, ""},
		{versions.Target{Features: []string{}}, ""},
		{versions.Target{Processor: "Abaci"}, `Target.Processor is "Abaci", for which there is no version; known:`},
		{versions.Target{Processor: "Abacus", Units: 5}, "Target.Units is 5, and no version that such workers can run takes more than 4"},
		{versions.Target{Units: 99}, "Target.Units is 99"},
		{versions.Target{Units: -1}, "Target.Units is -1"},
		{versions.Target{Kind: "cuda"}, `Target.Kind is "cuda"`},
		{versions.Target{Arch: "z80"}, `Target.Arch is "z80"`},
		{versions.Target{Features: []string{"telepathy"}}, `Target.Features names "telepathy"`},
		{versions.Target{Memory: -1}, "Target.Memory is -1"},
	} {
		opt := engine.Options{Table: table, Target: test.target}
		err := opt.Validate()
		var bad *engine.OptionsError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", test.target, err)
		case test.want != "" && (!errors.As(err, &bad) || len(bad.Problems) != 1 || !strings.Contains(bad.Problems[0], test.want)):
			t.Errorf("%+v: %v, want %q", test.target, err, test.want)
		}
		e, newErr := engine.New(opt)
		if (err == nil) != (newErr == nil) {
			t.Errorf("%+v: NewEngine says %v", test.target, newErr)
		}
		if newErr == nil {
			e.Close()
		}
	}
	opt := engine.Options{Table: table, Target: versions.Target{Processor: "x", Units: 7, Arch: "y"}, Workers: -1}
	var bad *engine.OptionsError
	if err := opt.Validate(); !errors.As(err, &bad) || len(bad.Problems) != 4 {
		t.Errorf("%v, want four problems", err)
	}
}
