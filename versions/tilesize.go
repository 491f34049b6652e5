package versions

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// TileSize is the result of tuning for one operation, size and machine: the fastest tile size.
type TileSize struct {
	Op        string  `json:"op"` // the operation's name for users, with its type: "cholesky/f64"
	Kind      string  `json:"kind"`
	Arch      string  `json:"arch"`
	Processor string  `json:"processor"`
	Workers   int     `json:"workers"`
	N         int     `json:"n"`    // order of the problem
	NB        int     `json:"nb"`   // tile size
	Rate      float64 `json:"rate"` // flop/s reached
}

// tileKey identifies a TileSize among others.
type tileKey struct {
	targetKey
	op         string
	workers, n int
}

func (t *TileSize) key() tileKey {
	return tileKey{targetKey{t.Kind, t.Arch, t.Processor}, t.Op, t.Workers, t.N}
}

// compareTileSizes orders by processor, op, workers and order.
func compareTileSizes(a, b TileSize) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Arch, b.Arch),
		strings.Compare(a.Processor, b.Processor),
		strings.Compare(a.Op, b.Op),
		cmp.Compare(a.Workers, b.Workers),
		cmp.Compare(a.N, b.N),
	)
}

// maxOrder bounds the orders, tile sizes and numbers of workers in a profile.
const maxOrder = 1 << 30

// validate reports values of t that no tuning gives.
func (t *TileSize) validate() error {
	if err := checkNames(t.Op, t.Kind, t.Arch, t.Processor); err != nil {
		return err
	}
	switch {
	case t.Op == "" || t.Kind == "":
		return errors.New("op or kind is missing")
	case t.Workers < 1 || t.Workers > maxOrder || t.N < 1 || t.N > maxOrder:
		return fmt.Errorf("order %d or %d workers out of range", t.N, t.Workers)
	case t.NB < 1 || t.NB > maxOrder:
		return fmt.Errorf("tile size %d out of range", t.NB)
	case !(t.Rate > 0 && t.Rate <= 1e24):
		return fmt.Errorf("rate %g out of range", t.Rate)
	}
	return nil
}
