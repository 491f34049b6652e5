package file

import (
	"io/fs"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// AccessError says that a node cannot read or write its part of a matrix file: the node does not find the
// file, or finds another one. The *exec.TaskError around the AccessError names the node.
type AccessError struct {
	File    string
	Reason  string
	Missing bool // the node does not find the file
}

func (e *AccessError) Error() string { return e.File + ": " + e.Reason }

// Is reports whether target is fs.ErrNotExist and e.Missing is set.
func (e *AccessError) Is(target error) bool { return e.Missing && target == fs.ErrNotExist }

// Final returns true, since another attempt to read the file finds the same error: see graph.Failure.
func (e *FormatError) Final() bool { return true }

// pair is an op for each element type.
type pair struct{ f32, f64 *versions.Op }

// of returns the op of p for element type T.
func of[T blocked.Element](p pair) *versions.Op {
	return scalar.Pick[T](p.f32, p.f64)
}

// newOp returns an op on tiles in files, with the given type of parameters.
func newOp(name, typ string, params func() any, run func(*versions.Call) error) *versions.Op {
	return &versions.Op{
		Name: name, Type: typ, NewParams: params,
		Versions: []versions.Version{{Name: "copy", Run: run}},
		Work:     func(c *versions.Call) float64 { return float64(c.Args[0].(versions.Value).Bytes()) },
	}
}
