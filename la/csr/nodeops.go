package csr

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas/blas64"
)

// Ops returns the ops of tasks on a [Distributed]. Nodes that are to execute them list them, as
// they do those of package kernels.
func Ops() []*versions.Op {
	o := ops()
	return []*versions.Op{o.copy, o.read, o.cut, o.join, o.mv, o.mm, o.tmv, o.add}
}

// Values returns a value of each type that these ops have beside those of package kernels, for
// programs of several nodes.
func Values() []versions.Value { return []versions.Value{&Block{}} }

// Errors returns an error of each type that these ops return, for programs of several nodes.
func Errors() []error {
	return []error{&StructureError{}, &file.FormatError{}, &file.AccessError{}}
}

// Final reports that a node that tries again finds the same: see graph.Failure.
func (e *StructureError) Final() bool { return true }

// ops are the ops on blocks.
var ops = sync.OnceValue(func() (o struct {
	copy *versions.Op // B = A: blocks A (in), B (out)
	read *versions.Op // A = a file, parameter *readParams: block A (out)
	cut  *versions.Op // where A is cut, parameter *cutParams: block A (in), tile of a row for each cut (out)
	join *versions.Op // B = some rows of A, parameter *joinParams: blocks of A, one after the other (in), B (out)
	mv   *versions.Op // y = A·x: block A (in), tiles x, n×1 (in), y (out)
	mm   *versions.Op // Y = A·X: block A (in), tiles X, n×k (in), Y (out)
	tmv  *versions.Op // y = Aᵀ·x: block A (in), tiles x, m×1 (in), y, n×1 (out)
	add  *versions.Op // y = y + x: tiles x (in), y (inout)
}) {
	// An entry is read once by each of them; of tiles, elements.
	op := func(name string, run func(*versions.Call) error) *versions.Op {
		return &versions.Op{Name: "csr" + name, Type: "f64", Versions: []versions.Version{{Name: "rows", Run: run}}, Work: func(c *versions.Call) float64 {
			if b, ok := c.Args[0].(*Block); ok {
				return float64(b.entries)
			}
			return float64(c.Args[0].(versions.Value).Bytes() / 8)
		}}
	}
	o.copy, o.read, o.cut, o.join = op("copy", runCopy), op("read", runRead), op("cut", runCut), op("join", runJoin)
	o.mv, o.mm, o.tmv, o.add = op("mv", runMV), op("mm", runMM), op("tmv", runTMV), op("add", runAdd)
	o.read.NewParams = func() any { return new(readParams) }
	o.cut.NewParams = func() any { return new(cutParams) }
	o.join.NewParams = func() any { return new(joinParams) }
	return o
})

func runCopy(call *versions.Call) error {
	from, to := call.Args[0].(*Block), call.Args[1].(*Block)
	if from.ia == nil {
		return errUnfilled()
	}
	to.Restore(from)
	return nil
}

// readParams is the parameter of op "csrread".
type readParams struct{ Path string }

func runRead(call *versions.Call) error {
	p, b := call.Params.(*readParams), call.Args[0].(*Block)
	list := make([]entry, 0, b.entries)
	err := file.ReadEntries(p.Path, func(rows, cols int, entries int64, _ bool) error {
		if rows != b.rows || cols != b.cols || entries != int64(b.entries) {
			return &file.AccessError{File: p.Path, Reason: fmt.Sprintf("is another file than the driver has under that path: %d×%d with %d entries, want %d×%d with %d", rows, cols, entries, b.rows, b.cols, b.entries)}
		}
		return nil
	}, func(i, j int, v float64) { list = append(list, entry{int32(i), int32(j), v}) })
	switch err.(type) {
	case nil:
	case *file.FormatError, *file.AccessError:
		return err
	default:
		return &file.AccessError{File: p.Path, Reason: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) })
	return b.Fill(func(i int, add func(int, float64)) {
		for len(list) > 0 && int(list[0].i) == i {
			add(int(list[0].j), list[0].v)
			list = list[1:]
		}
	})
}

// operands returns those of a product: op(A) is m×n, x has so many rows as it has columns, and
// y as it has rows. It panics with ErrShape unless they fit.
func operands(call *versions.Call, trans bool) (a *Matrix, x, y *kernels.Tile[float64], err error) {
	b := call.Args[0].(*Block)
	x, y = call.Args[1].(*kernels.Tile[float64]), call.Args[2].(*kernels.Tile[float64])
	if b.ia == nil {
		return nil, nil, nil, errUnfilled()
	}
	a = b.view()
	if m, n := a.op(trans); x.Rows != n || y.Rows != m || x.Cols != y.Cols {
		panic(ErrShape)
	}
	return a, x, y, nil
}

// vectors returns the elements of tiles of one column. It panics with ErrShape if one has more,
// or its elements do not lie together.
func vectors(x, y *kernels.Tile[float64]) (_, _ []float64) {
	for _, t := range [...]*kernels.Tile[float64]{x, y} {
		if t.Cols != 1 || t.Stride != 1 {
			panic(ErrShape)
		}
	}
	return x.Data[:x.Rows], y.Data[:y.Rows]
}

func runMV(call *versions.Call) error {
	a, tx, ty, err := operands(call, false)
	if err != nil {
		return err
	}
	x, y := vectors(tx, ty)
	a.mulVecNarrow(y, x, 0, a.rows)
	return nil
}

func runMM(call *versions.Call) error {
	a, x, y, err := operands(call, false)
	if err != nil {
		return err
	}
	from := blas64.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}
	for i := range a.rows {
		lo, hi := a.ia[i], a.ia[i+1]
		combine(y.Row(i), a.narrow[lo:hi], a.data[lo:hi], from)
	}
	return nil
}

func runTMV(call *versions.Call) error {
	a, tx, ty, err := operands(call, true)
	if err != nil {
		return err
	}
	x, y := vectors(tx, ty)
	clear(y)
	for i, v := range x {
		for k := a.ia[i]; k < a.ia[i+1]; k++ {
			y[a.narrow[k]] += a.data[k] * v
		}
	}
	return nil
}

func runAdd(call *versions.Call) error {
	tx, ty := call.Args[0].(*kernels.Tile[float64]), call.Args[1].(*kernels.Tile[float64])
	x, y := vectors(tx, ty)
	if len(x) != len(y) {
		panic(ErrShape)
	}
	for i, v := range x {
		y[i] += v
	}
	return nil
}
