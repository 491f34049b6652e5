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
	"sync/atomic"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Array is an array in a .npy file. Several nodes can read or write parts of it; each opens the file
// itself. An Array keeps no file open.
type Array struct {
	path string // absolute
	head *npyHeader
	id   identity
}

// identity tells the file of the driver from another file that a node has under the same path.
type identity struct {
	Size   int64  // of the file, in bytes
	Header uint64 // FNV-1a of the bytes before the data
}

// OpenArray reads the header of the .npy file path, which must not be compressed. If the content is
// wrong, the error is a *[FormatError]. If the file or its device fails, the error wraps that of the
// operating system.
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

// Dims returns the number of rows and columns. A 1-D array is a column vector.
func (a *Array) Dims() (m, n int) { return int(a.head.m), int(a.head.n) }

// named adds the path of the file to err.
func named(path string, err error) error {
	if fe, ok := errors.AsType[*FormatError](err); ok {
		fe.File = path
		return fe
	}
	return fmt.Errorf("file: %s: %w", path, err)
}

// identify returns the header of f and its identity. It checks that the data have the size that the header
// announces.
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

// part is the parameter of op "readnpy", which overwrites a tile with a part of an array, and of op
// "writenpy", which overwrites a part of an array with a tile. Operand: the tile (out or in). Its first
// element is element (Row, Col) of the array.
type part struct {
	Path     string
	File     identity
	Row, Col int
	Kind     uint8 // of the matrix; only for writenpy
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

// open opens the file of p and returns its header. The error is an *AccessError, also if the file is not the
// one that the driver has seen, or has no room for a tile of rows×cols elements.
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

// The ops that read and write one tile.
var (
	readingNPY = newOpPair[part]("readnpy", readPart[float32], readPart[float64])
	writingNPY = newOpPair[part]("writenpy", writePart[float32], writePart[float64])
)

// ReadTiles overwrites a with the array, converted as by [ReadNPY]. It submits a task to p for each stored
// tile of a; the node that owns the tile executes the task and reads its part of the file. So all nodes
// must find the file under the same path, as in a file system that they share, and list [Ops]. If a is
// symmetric or triangular, only one triangle is read.
//
// A task fails with an *[AccessError] if its node cannot read the file, or finds a file with another size
// or header. It fails with a *[FormatError] if an element overflows T. The error of ReadTiles is that of
// the submission.
//
// No program may write the file before the job's Wait. If a is distributed, none may write it before a is
// closed: if a node is lost, other nodes read its tiles from the file again.
//
// ReadTiles panics with blocked.ErrShape if the shapes of a and the array differ.
func ReadTiles[T blocked.Element](p *blocked.Program[T], a *blocked.Matrix[T], from *Array) error {
	m, n := a.Dims()
	if rows, cols := from.Dims(); m != rows || n != cols {
		panic(blocked.ErrShape)
	}
	return p.Generate(a, opOf[T](readingNPY()), func(i, j int) any {
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

// WriteTiles writes a to the .npy file path. It submits a task for each stored tile; a node that has the
// tile executes the task. So all nodes must share the file system, and list [Ops]. The content is that of
// [WriteNPY]: a symmetric matrix is written with both triangles.
//
// WriteTiles makes a file of another name in the same directory, with the header and the full size. Then it
// calls run, which must call submit with a Program and wait for the end of the tasks, as engine.Run does. Each
// task flushes its bytes to the device. At the end WriteTiles renames the file to path or, after an error,
// removes it. So path holds either its former content or all of a. An existing file keeps its permissions,
// and WriteTiles follows a symbolic link.
//
// The error wraps that of run or of the operating system, or is a *[FormatError] if path does not end in
// .npy. The error of run contains an *[AccessError] if a node does not find the file.
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
		if err := f.Truncate(int64(len(head)) + int64(m)*int64(n)*int64(scalar.Size[T]())); err != nil {
			return err
		}
		if err := f.Sync(); err != nil { // so that other nodes see the header and the size
			return err
		}
		to, err := OpenArray(f.Name())
		if err != nil {
			return err
		}
		return run(func(p *blocked.Program[T]) error {
			return p.Inspect(a, opOf[T](writingNPY()), func(i, j int) any {
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
	if symmetric && p.Row != p.Col { // the file must also have room for the mirror image
		rows, cols = max(rows, int64(p.Col)-int64(p.Row)+cols), max(cols, int64(p.Row)-int64(p.Col)+rows)
	}
	f, h, err := p.open(os.O_RDWR, rows, cols)
	if err != nil {
		return err
	}
	if kind != blocked.Full && p.Row == p.Col {
		t = diagonal(t, kind)
	}
	err = writeTileAt(f, h, p.Row, p.Col, t, false)
	if err == nil && symmetric && p.Row != p.Col {
		err = writeTileAt(f, h, p.Col, p.Row, t, true)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &AccessError{File: p.Path, Reason: err.Error()}
	}
	return nil
}

// diagonal returns a copy of a diagonal tile of a matrix of the given kind, in which the other triangle has
// its elements, too: the mirror images, or zeros.
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

// writeTileAt writes t, or its transpose if transposed is set, to a file with header h, whose elements are
// of type T. The first element becomes element (i0, j0) of the array.
func writeTileAt[T blocked.Element](w io.WriterAt, h *npyHeader, i0, j0 int, t *blocked.Tile[T], transposed bool) error {
	write := func(k int, line []T) error {
		_, err := w.WriteAt(littleBytes(line), h.offset+h.lineOffset(i0, j0, k))
		return err
	}
	if transposed == h.fortran {
		for r := range t.Rows {
			if err := write(r, t.Row(r)); err != nil {
				return err
			}
		}
		return nil
	}
	// Copy a few columns at once, while a cache line of each row is in the cache.
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
