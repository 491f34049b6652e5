package la_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// TestOnlyCUDA: without a device nobody can run what only devices may.
func TestOnlyCUDA(t *testing.T) {
	for name, opt := range map[string]la.Options{
		"only":  {Only: []string{"cuda"}},
		"fixed": {Fixed: []versions.Pin{{Op: "potrf", Version: "cuda"}}},
	} {
		e, err := la.NewEngine(opt)
		var none *versions.NoVersionError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), "cuda: needs a cuda worker, this one is cpu") {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil {
			e.Close()
		}
	}
}

// TestFixedTypes: a pin that names no element type is for those that have the version, as
// Only is; one that names a type without it is refused.
func TestFixedTypes(t *testing.T) {
	table := op.NewTable()
	table.Add(kernels.For[float64](table).Op("gemm"), versions.Version{Name: "mine", Run: kernels.For[float64](table).Op("gemm").Version("go").Run})
	for _, opt := range []la.Options{
		{Only: []string{"mine", "go"}},
		{Fixed: []versions.Pin{{Op: "gemm", Version: "mine"}}},
		{Fixed: []versions.Pin{{Op: "gemm/f64", Version: "mine"}}},
	} {
		opt.Table, opt.Static = table, true
		e := start(t, opt)
		if x, ok := engine.Explain[float64](e, "gemm", nil); !ok || x.Chosen != "mine" {
			t.Errorf("%+v: f64 takes %v", opt.Fixed, x)
		}
		if x, ok := engine.Explain[float32](e, "gemm", nil); !ok || x.Chosen == "" || x.Chosen == "mine" {
			t.Errorf("%+v: f32 takes %v", opt.Fixed, x)
		}
	}
	var unknown *versions.UnknownNameError
	if _, err := la.NewEngine(la.Options{Table: table, Fixed: []versions.Pin{{Op: "gemm/f32", Version: "mine"}}}); !errors.As(err, &unknown) {
		t.Errorf("gemm/f32: %v", err)
	}
}
