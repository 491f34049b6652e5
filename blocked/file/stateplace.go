package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/versions"
)

// place says where a tile lies in a file of a state. It is the parameter of op "readstate", which
// overwrites a tile, and of op "writestate". Operand: the tile (out or in).
type place struct {
	Path         string // absolute
	Size, Offset int64  // of the file, and where the tile begins
	Row, Col     int    // of the tile, for errors
	Factor       bool   // the tile is factor Row of the rotations
}

// name returns the name of the tile for errors.
func (p *place) name() string {
	if p.Factor {
		return fmt.Sprintf("factor %d", p.Row)
	}
	return fmt.Sprintf("tile (%d, %d)", p.Row, p.Col)
}

// Validate returns an error if a field is out of range.
func (p *place) Validate() error {
	if p.Offset < 0 || p.Size < p.Offset {
		return &versions.ParamsError{Op: "readstate", Field: "Offset, Size", Reason: "is out of range"}
	}
	return nil
}

// open opens the file of p. The error is an *AccessError, also if the file does not have the size that the
// driver has seen.
func (p *place) open(flag int) (*os.File, error) {
	f, err := os.OpenFile(p.Path, flag, 0)
	if err != nil {
		return nil, &AccessError{File: p.Path, Reason: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	}
	if st, err := f.Stat(); err != nil || st.Size() != p.Size {
		f.Close()
		return nil, &AccessError{File: p.Path, Reason: "is another file than the driver has under that path: its size differs"}
	}
	return f, nil
}

// The ops that read and write one tile.
var (
	readingState = newOpPair[place]("readstate", readPlace[float32], readPlace[float64])
	writingState = newOpPair[place]("writestate", writePlace[float32], writePlace[float64])
)

// readPlace overwrites a tile. It is the run of op "readstate".
func readPlace[T blocked.Element](c *versions.Call) error {
	p, t := c.Params.(*place), c.Args[0].(*blocked.Tile[T])
	f, err := p.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return readValue(io.NewSectionReader(f, p.Offset, p.Size-p.Offset), t, p.name())
}

// writePlace writes a tile and flushes it to the device. It is the run of op "writestate".
func writePlace[T blocked.Element](c *versions.Call) error {
	p, t := c.Params.(*place), c.Args[0].(*blocked.Tile[T])
	f, err := p.open(os.O_RDWR)
	if err != nil {
		return err
	}
	if err = writeValue(io.NewOffsetWriter(f, p.Offset), t); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &AccessError{File: p.Path, Reason: err.Error()}
	}
	return nil
}

// places says where in a file the tiles and factors of a state begin.
type places struct {
	path    string
	size    int64 // of the file
	tiles   map[[2]int]int64
	factors []int64
}

// tile returns the parameter of a task for tile (i, j).
func (p *places) tile(i, j int) any {
	return &place{Path: p.path, Size: p.size, Offset: p.tiles[[2]int{i, j}], Row: i, Col: j}
}

// factor returns the parameter of a task for factor n of the rotations.
func (p *places) factor(n int) any {
	return &place{Path: p.path, Size: p.size, Offset: p.factors[n], Row: n, Factor: true}
}

// placesOf returns the places for state s in the file path, whose head takes the given number of bytes.
func placesOf[T blocked.Element](s *State[T], path string, head int64) *places {
	// A header and a checksum stand around the elements of each tile, and take the same number of bytes for all.
	one := blocked.Tile[T]{Rows: 1, Cols: 1, Stride: 1, Data: make([]T, 1)}
	var b bytes.Buffer
	writeValue(&b, &one) // a Buffer returns no error
	around := int64(b.Len()) - one.Bytes()
	p := &places{path: path, size: head, tiles: map[[2]int]int64{}}
	for i, j := range s.Matrix.StoredTiles() {
		rows, cols := s.Matrix.TileDims(i, j)
		p.tiles[[2]int{i, j}] = p.size
		p.size += around + int64(rows)*int64(cols)*one.Bytes()
	}
	for _, t := range s.factors() {
		p.factors = append(p.factors, p.size)
		p.size += around + int64(t.Rows)*int64(t.Cols)*one.Bytes()
	}
	return p
}
