package csr

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/versions"
)

// Ops returns the ops of tasks on a [Distributed]. Nodes that execute such tasks list these ops, as they list
// those of package kernels.
func Ops() []*versions.Op {
	o := ops()
	return []*versions.Op{o.copy, o.read, o.cut, o.join, o.mv, o.span, o.mvs, o.mm, o.tmv, o.slice, o.add, o.dot, o.ilu, o.solve}
}

// Values returns a value of each type of operand that these ops have and those of package kernels have not,
// for programs of several nodes.
func Values() []versions.Value { return []versions.Value{&Block{}} }

// Errors returns an error of each type that these ops return, for programs of several nodes.
func Errors() []error {
	return []error{&StructureError{}, &PivotError{}, &file.FormatError{}, &file.AccessError{}}
}

// Final returns true, since another attempt finds the same error: see graph.Failure.
func (e *StructureError) Final() bool { return true }

// ops are the ops on blocks.
var ops = sync.OnceValue(func() (o struct {
	copy  *versions.Op // B = A: blocks A (in), B (out)
	read  *versions.Op // A = a file, parameter *readParams: block A (out)
	cut   *versions.Op // where A is cut, parameter *cutParams: block A (in), tile of a row for each cut (out)
	join  *versions.Op // B = some rows of A, parameter *joinParams: blocks of A, one after the other (in), B (out)
	mv    *versions.Op // y = A·x: block A (in), tiles x, n×1 (in), y (out)
	span  *versions.Op // columns of A: block A (in), tiles of where x is cut (in), a row for each of its parts (out)
	mvs   *versions.Op // y = A·x: block A (in), its span and the parts of x that it says (in), tile y (out)
	mm    *versions.Op // Y = A·X: block A (in), tiles X, n×k (in), Y (out)
	tmv   *versions.Op // y = Aᵀ·x: block A (in), tiles x, m×1 (in), y, n×1 (out)
	slice *versions.Op // y = some rows of x, parameter *sliceParams: maybe a block, for its place (in), tiles x (in), y (out)
	add   *versions.Op // y = αx + βy, parameter *addParams: tiles x (in), unless it is y, and y (inout; out if β is 0)
	ilu   *versions.Op // M = L·U ≈ the square part of A, parameter *rowsParams: blocks A (in), M (out)
	solve *versions.Op // y = M⁻¹·r, parameter *rowsParams: block M (in), tiles r (in), y (out)
	dot   *versions.Op // a part of xᵀ·y, parameter *dotParams: tiles x (in), y (in), unless it is x, and of numbers (out)
}) {
	// The work of a task is the number of entries of its block, or of elements of its first tile.
	op := func(name string, run func(*versions.Call) error) *versions.Op {
		return &versions.Op{Name: "csr" + name, Type: "f64", Versions: []versions.Version{{Name: "rows", Run: run}}, Work: func(c *versions.Call) float64 {
			if b, ok := c.Args[0].(*Block); ok {
				return float64(b.entries)
			}
			return float64(c.Args[0].(versions.Value).Bytes() / 8)
		}}
	}
	o.copy, o.read, o.cut, o.join = op("copy", runCopy), op("read", runRead), op("cut", runCut), op("join", runJoin)
	o.mv, o.span, o.mvs, o.mm, o.tmv = op("mv", runMV), op("span", runSpan), op("mvs", runMVS), op("mm", runMM), op("tmv", runTMV)
	o.slice, o.add, o.dot = op("slice", runSlice), op("add", runAdd), op("dot", runDot)
	o.ilu, o.solve = op("ilu", runILU), op("solve", runSolve)
	o.ilu.NewParams = func() any { return new(rowsParams) }
	o.solve.NewParams = func() any { return new(rowsParams) }
	o.slice.Work = func(c *versions.Call) float64 { return float64(c.Args[len(c.Args)-1].(*tile).Rows) }
	o.read.NewParams = func() any { return new(readParams) }
	o.cut.NewParams = func() any { return new(cutParams) }
	o.join.NewParams = func() any { return new(joinParams) }
	o.slice.NewParams = func() any { return new(sliceParams) }
	o.add.NewParams = func() any { return new(addParams) }
	o.dot.NewParams = func() any { return new(dotParams) }
	return o
})

// runCopy is op "csrcopy".
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

// runRead is op "csrread". It sorts the entries, which a file may have in any order.
func runRead(call *versions.Call) error {
	p, b := call.Params.(*readParams), call.Args[0].(*Block)
	var list []entry // grows as entries come, whatever number the file announces
	err := file.ReadEntries(p.Path, nil, func(rows, cols int, entries int64, _ bool) error {
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

// cutParams is the parameter of op "csrcut".
type cutParams struct {
	First, Blocks int // the first cut in this block is the beginning of new block First of Blocks
	Total, Before int // the work of the matrix, and that of the rows before this block
}

// Validate returns an error if a number, which another node may have sent, is out of range.
func (p *cutParams) Validate() error {
	if p.First < 1 || p.First >= p.Blocks || p.Total < 0 || p.Before < 0 {
		return &StructureError{-1, fmt.Sprintf("cut %d of %d, of %d after %d", p.First, p.Blocks, p.Total, p.Before)}
	}
	return nil
}

// runCut is op "csrcut". Row i of the tile becomes the numbers of rows and entries of the block before cut
// First+i.
func runCut(call *versions.Call) error {
	p, b, to := call.Params.(*cutParams), call.Args[0].(*Block), call.Args[1].(*tile)
	switch {
	case b.ia == nil:
		return errUnfilled()
	case to.Cols != 2 || p.First+to.Rows > p.Blocks:
		panic(ErrShape)
	}
	for i := range to.Rows {
		r := reach(b.ia, share(p.First+i, p.Blocks, p.Total)-p.Before)
		copy(to.Row(i), []float64{float64(r), float64(b.ia[r])})
	}
	return nil
}

// joinParams is the parameter of op "csrjoin".
type joinParams struct{ Row int } // the result begins with this row of the first block

// runJoin is op "csrjoin". It copies rows from the blocks of A until B has the rows and entries of its shape.
func runJoin(call *versions.Call) error {
	blocks := call.Args[:len(call.Args)-1]
	to, skip := call.Args[len(blocks)].(*Block), call.Params.(*joinParams).Row
	x := Block{shape: to.shape, ia: make([]int, 1, to.rows+1), ja: make([]int32, to.entries), data: make([]float64, to.entries)}
	pages.Large(x.ja)
	pages.Large(x.data)
	k := 0
	for _, arg := range blocks {
		b := arg.(*Block)
		if b.ia == nil {
			return errUnfilled()
		}
		hi := min(b.rows, skip+to.rows+1-len(x.ia))
		if b.cols != to.cols || skip < 0 || skip > hi || k+b.ia[hi]-b.ia[skip] > to.entries {
			panic(ErrShape)
		}
		for _, end := range b.ia[skip+1 : hi+1] {
			x.ia = append(x.ia, k+end-b.ia[skip])
		}
		copy(x.data[k:], b.data[b.ia[skip]:b.ia[hi]])
		k += copy(x.ja[k:], b.ja[b.ia[skip]:b.ia[hi]])
		skip = 0
	}
	if len(x.ia) != to.rows+1 || k != to.entries {
		panic(ErrShape)
	}
	*to = x
	return nil
}
