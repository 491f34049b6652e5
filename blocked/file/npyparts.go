package file

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Array is an array in a .npy file. Several nodes read or write parts of it, each through
// its own file system. An Array keeps no file open.
type Array struct {
	path string // absolute
	head *npyHeader
	id   identity
}

// identity distinguishes a file from another one that a node has under the same path.
type identity struct {
	Size   int64  // of the file, in bytes
	Header uint64 // FNV-1a of what stands before the data
}

// OpenArray reads the header of the .npy file path, which is not compressed. What is wrong
// with the content is a *[FormatError], with the file or its device an error that wraps that
// of the operating system.
func OpenArray(path string) (*Array, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &Array{path: path}
	if a.head, a.id, err = identify(f); err != nil {
		return nil, named(path, err)
	}
	return a, nil
}

// Dims returns the number of rows and columns: a 1-D array is a column.
func (a *Array) Dims() (m, n int) { return int(a.head.m), int(a.head.n) }

// named returns err, of the file path, with its name.
func named(path string, err error) error {
	if fe, ok := errors.AsType[*FormatError](err); ok {
		fe.File = path
		return fe
	}
	return fmt.Errorf("file: %s: %w", path, err)
}

// identify reads the header of f, and holds it against the size.
func identify(f *os.File) (*npyHeader, identity, error) {
	var id identity
	st, err := f.Stat()
	if err != nil {
		return nil, id, err
	}
	if !st.Mode().IsRegular() {
		return nil, id, &FormatError{Reason: "no regular file, so that no part of it can be read or written alone"}
	}
	sum := fnv.New64a()
	h, err := readNPYHeader(io.TeeReader(bufio.NewReaderSize(io.NewSectionReader(f, 0, st.Size()), 512), sum))
	if err != nil {
		return nil, id, err
	}
	id = identity{Size: st.Size(), Header: sum.Sum64()}
	switch total, ok := h.dataBytes(); {
	case h.m > maxDim || h.n > maxDim:
		return nil, id, &FormatError{Reason: fmt.Sprintf("%d×%d matrix: a dimension is above %d", h.m, h.n, maxDim)}
	case !ok || total != id.Size-h.offset:
		return nil, id, &FormatError{Reason: fmt.Sprintf("%d×%d elements of %d bytes do not fit the %d bytes behind the header", h.m, h.n, h.dtype.size, max(id.Size-h.offset, 0))}
	}
	return h, id, nil
}

// part is the parameter of ops "readnpy", which overwrites a tile with a part of an array,
// and "writenpy", which overwrites a part of an array with a tile. Operand: the tile (out or
// in), whose first element is that in Row and Col of the array.
type part struct {
	Path     string
	File     identity
	Row, Col int
	Kind     uint8 // writenpy: the matrix's
}

// Validate returns an error if a field is out of range.
func (p *part) Validate() error {
	switch {
	case p.Row < 0 || p.Col < 0:
		return &versions.ParamsError{Op: "readnpy", Field: "Row, Col", Reason: "is out of range"}
	case p.Kind > uint8(blocked.TriUpper):
		return &versions.ParamsError{Op: "writenpy", Field: "Kind", Reason: "is out of range"}
	}
	return nil
}

// open opens the file of p, if it is the one that the driver has seen, and has a place for t.
func (p *part) open(flag int, rows, cols int64) (*os.File, *npyHeader, error) {
	bad := func(err error) error {
		if fe, ok := errors.AsType[*FormatError](err); ok {
			return &AccessError{File: p.Path, Reason: fe.Reason}
		}
		return &AccessError{File: p.Path, Reason: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	f, err := os.OpenFile(p.Path, flag, 0)
	if err != nil {
		return nil, nil, bad(err)
	}
	h, id, err := identify(f)
	switch {
	case err != nil:
		err = bad(err)
	case id != p.File:
		err = &AccessError{File: p.Path, Reason: "is another file than the driver has under that path: its size or header differs"}
	case int64(p.Row)+rows > h.m || int64(p.Col)+cols > h.n:
		err = &AccessError{File: p.Path, Reason: fmt.Sprintf("has no %d×%d elements from (%d, %d) on", rows, cols, p.Row, p.Col)}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, h, nil
}

// reading is op "readnpy", and writing op "writenpy".
var (
	reading = sync.OnceValue(func() pair {
		return pair{newOp("readnpy", "f32", newPart, readPart[float32]), newOp("readnpy", "f64", newPart, readPart[float64])}
	})
	writing = sync.OnceValue(func() pair {
		return pair{newOp("writenpy", "f32", newPart, writePart[float32]), newOp("writenpy", "f64", newPart, writePart[float64])}
	})
)

func newPart() any { return new(part) }

// ReadTiles submits a task for each stored tile of A, which has the shape of the array, that
// overwrites it with its part of the array, as [ReadNPY] converts it. Each is executed where
// the tile is to be, by a node that reads the file itself: all nodes have it under the same
// path, as in a file system that they share, and list [Ops]. Of a symmetric or triangular A
// only its half is read.
//
// A task whose node cannot read the file, or has another one under that path by its size and
// header, fails with an *[AccessError], one with an element that overflows T with a
// *[FormatError]. Nobody must write the file before the job's Wait, or as long as what is
// lost with a node may be made again from it: until A, if it is distributed, is closed.
//
// It panics with blocked.ErrShape if the shapes differ.
func ReadTiles[T blocked.Element](p *blocked.Program[T], a *blocked.Matrix[T], from *Array) error {
	m, n := a.Dims()
	if rows, cols := from.Dims(); m != rows || n != cols {
		panic(blocked.ErrShape)
	}
	return p.Generate(a, of[T](reading()), func(i, j int) any {
		return &part{Path: from.path, File: from.id, Row: i * a.NB(), Col: j * a.NB()}
	})
}

func readPart[T blocked.Element](c *versions.Call) (err error) {
	p, t := c.Params.(*part), c.Args[0].(*blocked.Tile[T])
	f, h, err := p.open(os.O_RDONLY, int64(t.Rows), int64(t.Cols))
	if err != nil {
		return err
	}
	defer f.Close()
	lines, length := h.lines(t.Rows, t.Cols)
	length *= h.dtype.size
	buf := make([]byte, lines*length)
	for k := range lines {
		if _, err := f.ReadAt(buf[k*length:(k+1)*length], h.offset+h.lineOffset(p.Row, p.Col, k)); err != nil {
			return &AccessError{File: p.Path, Reason: contentError(0, err).Error()}
		}
	}
	if err := decodeTile(t, h, p.Row, p.Col, new(atomic.Bool), func(k int) []byte { return buf[k*length : (k+1)*length] }); err != nil {
		return named(p.Path, err)
	}
	return nil
}

// WriteTiles writes A to the .npy file path by a task for each stored tile, each executed by
// a node that has the tile: all nodes share the file system, and list [Ops]. What is in the
// file is what [WriteNPY] writes: all of a symmetric matrix, too.
//
// The file is made here under another name in the same directory, with its header and full
// size. Then WriteTiles calls run, which has the tasks submitted to a job and waits for its
// end, as la.Run does. Each task flushes what it has written to the device. If all went well
// the file is renamed to path, else removed, so that path holds either what it held before or
// all of A. An existing file keeps its permissions, a symbolic link is followed.
//
// The error is run's, which for a node that does not have the file has an *[AccessError], a
// *[FormatError] if path does not end in .npy, or that of the operating system.
func WriteTiles[T blocked.Element](path string, a *blocked.Matrix[T], opt *WriteOptions, run func(submit func(p *blocked.Program[T]) error) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if !strings.EqualFold(filepath.Ext(path), ".npy") {
		return &FormatError{File: path, Reason: "only a .npy file can be written by several nodes"}
	}
	err = replaceFile(path, func(f *os.File) error {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if !st.Mode().IsRegular() {
			return &FormatError{File: path, Reason: "no regular file, which several nodes can write"}
		}
		m, n := a.Dims()
		head := npyPreamble[T](m, n, opt.orZero().Fortran)
		if _, err := f.Write(head); err != nil {
			return err
		}
		if err := f.Truncate(int64(len(head)) + int64(m)*int64(n)*int64(unsafe.Sizeof(*new(T)))); err != nil {
			return err
		}
		if err := f.Sync(); err != nil { // others are to see it
			return err
		}
		to, err := OpenArray(f.Name())
		if err != nil {
			return err
		}
		return run(func(p *blocked.Program[T]) error {
			return p.Inspect(a, of[T](writing()), func(i, j int) any {
				return &part{Path: to.path, File: to.id, Row: i * a.NB(), Col: j * a.NB(), Kind: uint8(a.Kind())}
			})
		})
	})
	if err != nil {
		return fmt.Errorf("file: writing %s: %w", path, err)
	}
	return nil
}

func writePart[T blocked.Element](c *versions.Call) error {
	p, t := c.Params.(*part), c.Args[0].(*blocked.Tile[T])
	kind := blocked.Kind(p.Kind)
	symmetric := kind.Symmetric()
	rows, cols := int64(t.Rows), int64(t.Cols)
	if symmetric && p.Row != p.Col { // the mirror image has to have its place, too
		rows, cols = max(rows, int64(p.Col)-int64(p.Row)+cols), max(cols, int64(p.Row)-int64(p.Col)+rows)
	}
	f, h, err := p.open(os.O_RDWR, rows, cols)
	if err != nil {
		return err
	}
	if kind != blocked.Full && p.Row == p.Col {
		t = diagonal(t, kind)
	}
	err = put(f, h, p.Row, p.Col, t, false)
	if err == nil && symmetric && p.Row != p.Col {
		err = put(f, h, p.Col, p.Row, t, true)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &AccessError{File: p.Path, Reason: err.Error()}
	}
	return nil
}

// diagonal returns a copy of a diagonal tile of a matrix of that kind, with the elements
// that the tile does not store.
func diagonal[T blocked.Element](t *blocked.Tile[T], kind blocked.Kind) *blocked.Tile[T] {
	c := &blocked.Tile[T]{Rows: t.Rows, Cols: t.Cols, Stride: t.Cols, Data: make([]T, t.Rows*t.Cols)}
	for i := range t.Rows {
		for j := range t.Cols {
			stored := (i >= j) == (kind.Uplo() == blas.Lower) || i == j
			switch {
			case stored:
				c.Set(i, j, t.At(i, j))
			case kind.Symmetric():
				c.Set(i, j, t.At(j, i))
			}
		}
	}
	return c
}

// put writes t, or its transpose if turned, to its place in an array of T: from (i0, j0) on.
func put[T blocked.Element](w io.WriterAt, h *npyHeader, i0, j0 int, t *blocked.Tile[T], turned bool) error {
	write := func(k int, line []T) error {
		_, err := w.WriteAt(littleBytes(line), h.offset+h.lineOffset(i0, j0, k))
		return err
	}
	if turned == h.fortran {
		for r := range t.Rows {
			if err := write(r, t.Row(r)); err != nil {
				return err
			}
		}
		return nil
	}
	// A few columns at once, as a row is in the cache then.
	const strip = 16
	buf := make([]T, strip*t.Rows)
	for c0 := 0; c0 < t.Cols; c0 += strip {
		c1 := min(c0+strip, t.Cols)
		for r := range t.Rows {
			for c, v := range t.Row(r)[c0:c1] {
				buf[c*t.Rows+r] = v
			}
		}
		for c := c0; c < c1; c++ {
			if err := write(c, buf[(c-c0)*t.Rows:][:t.Rows]); err != nil {
				return err
			}
		}
	}
	return nil
}
