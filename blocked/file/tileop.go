package file

import (
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// opPair is an op on tiles in files, for each element type.
type opPair struct{ f32, f64 *versions.Op }

// newOpPair returns a function that makes the op at its first call. P is the type of the op's parameter.
func newOpPair[P any](name string, f32, f64 func(*versions.Call) error) func() opPair {
	op := func(typ string, run func(*versions.Call) error) *versions.Op {
		return &versions.Op{
			Name: name, Type: typ, NewParams: func() any { return new(P) },
			Versions: []versions.Version{{Name: "copy", Run: run}},
			Work:     func(c *versions.Call) float64 { return float64(c.Args[0].(versions.Value).Bytes()) },
		}
	}
	return sync.OnceValue(func() opPair { return opPair{op("f32", f32), op("f64", f64)} })
}

// opOf returns the op of p for element type T.
func opOf[T blocked.Element](p opPair) *versions.Op { return scalar.Pick[T](p.f32, p.f64) }
