package builtin

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// GangedForTest returns op in parts of few elements, on portable routines.
func GangedForTest(op *versions.Op) versions.Version {
	if op.Type == "f32" {
		return gangedForTest[float32](op.Name)
	}
	return gangedForTest[float64](op.Name)
}

func gangedForTest[T kernels.Element](op string) versions.Version {
	g := &ganged[T]{r: cpu.Portable[T](), units: 3, grain: 5, block: 7}
	lu := cpu.NewLU(g.r, caches())
	if run, ok := (&gangedQR[T]{g, cpu.NewQR(g.r)}).functions()[op]; ok {
		return versions.Version{Name: "gang", Constraints: versions.Constraints{Units: 3}, Run: run}
	}
	return versions.Version{Name: "gang", Constraints: versions.Constraints{Units: 3},
		Run: map[string]func(*versions.Call) error{"gemm": g.gemm, "syrk": g.syrk, "trsm": g.trsm, "potrf": g.potrf, "potrfp": g.potrfp,
			"getrf": g.getrf(lu), "getrfnp": g.getrfnp(lu), "laswp": g.laswp(lu)}[op]}
}
