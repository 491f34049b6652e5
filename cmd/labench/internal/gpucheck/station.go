package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// tile is a tile that a call works on.
type tile[T kernels.Element] = kernels.Tile[T]

// station executes calls on an accelerator without a runtime. The caller ensures that concurrent calls do not
// depend on each other.
type station struct {
	a      *cuda.Accelerator
	job    uint64
	flying int
	ended  []*versions.Launch
}

// patience is the time limit of a call. If a device hangs, the driver reports nothing.
const patience = time.Minute

// start starts a call.
func (s *station) start(v *versions.Version, params any, args []any, uses []versions.Use) error {
	l := &versions.Launch{Call: versions.Call{Ctx: context.Background(), Params: params, Args: args}, Version: v, Uses: uses, Job: s.job}
	if err := s.a.Launch(l); err != nil {
		return err
	}
	s.flying++
	return nil
}

// wait waits until at most flying calls are running. It returns the errors of ended calls.
func (s *station) wait(flying int) error {
	var errs []error
	for begin := time.Now(); s.flying > flying; {
		s.ended = s.a.Ended(s.ended[:0], time.Second)
		for _, l := range s.ended {
			errs = append(errs, l.Err)
		}
		s.flying -= len(s.ended)
		if len(s.ended) > 0 {
			begin = time.Now()
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("gpucheck: %d calls have not ended within %v", s.flying, patience)
		}
	}
	return errors.Join(errs...)
}

// flush copies all values back to the host and clears the cache.
func (s *station) flush() error {
	err := s.a.Flush(s.job)
	s.job++
	return err
}

// typeOf returns the element type for devices, and its name for people.
func typeOf[T kernels.Element]() (cuda.Type, string) {
	return scalar.Pick[T](cuda.F32, cuda.F64), scalar.Of[T]().String()
}

const (
	in    = versions.Reads
	inout = versions.Reads | versions.Writes
)

// OnCores returns the version of op that this machine's workers on cores prefer.
func OnCores(op *versions.Op, on *versions.Target) *versions.Version {
	for i := range op.Versions {
		if v := &op.Versions[i]; v.Constraints.Unmet(on) == "" {
			return v
		}
	}
	return nil
}

// element returns a number that depends on p and is no power of two.
func element(p int) float64 { return float64(p*7919%1021)/1021 - 0.5 }

// square returns a rows×nb tile of numbers, or one close to a unit matrix.
func square[T kernels.Element](rows, nb int, unit bool) *tile[T] {
	t := &tile[T]{Rows: rows, Cols: nb, Stride: nb, Data: make([]T, rows*nb)}
	scale := 1.0
	if unit {
		scale = 1e-3 / float64(nb)
	}
	for p := range t.Data {
		t.Data[p] = T(scale * element(p))
	}
	for i := range min(rows, nb) {
		if unit {
			t.Data[i*nb+i] = 1
		}
	}
	return t
}

// slots returns the number of concurrent calls.
func slots(nb int) int {
	if nb <= 1024 {
		return 8
	}
	return 4
}
