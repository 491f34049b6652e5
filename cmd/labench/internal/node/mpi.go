package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/transport/mpi"
)

// asksForMPI reports whether a command line has --cluster mpi.
func asksForMPI(args []string) bool {
	for i, arg := range args {
		if arg == "--cluster=mpi" || arg == "--cluster" && i+1 < len(args) && args[i+1] == "mpi" {
			return true
		}
	}
	return false
}

// Hush discards the output of this process if an MPI launcher started it as a rank other than 0, since rank 0
// prints the same. It also sets a.Each, which is never discarded.
func Hush(a *cli.App, args []string) {
	a.Each = a.Err
	if rank, _, ok := mpi.Launched(); ok && rank > 0 && asksForMPI(args) {
		a.Out, a.Err = io.Discard, io.Discard
	}
}

// OnRanks calls drive. With --cluster mpi it does so on rank 0 only, and the other ranks serve it. All ranks
// compute with what local describes. Before that, each rank calls check, which returns what is wrong with the
// command line. If f.Sweeps is set, drive calls f.Drive any number of times, and otherwise once.
func (f *ClusterFlags) OnRanks(ctx context.Context, a *cli.App, local *setup.LocalFlags, check, drive func() error) (err error) {
	if !slices.Equal(f.Words, []string{"mpi"}) {
		return drive()
	}
	w, err := mpi.Open()
	switch {
	case errors.Is(err, mpi.ErrAbsent):
		if rank, _, _ := mpi.Launched(); rank > 0 { // rank 0 may have failed
			report.FprintWrapped(a.Each, fmt.Sprintf("labench: rank %d: ", rank), err.Error())
		}
		return &LostError{err}
	case err != nil:
		return cli.Usage(err)
	}
	r := &ranks{world: w, a: a}
	defer func() {
		err = errors.Join(err, r.close())
		switch e := w.Close(); {
		case errors.Is(e, mpi.ErrStuck):
			r.tell(e) // the operation itself is done
		case !errors.Is(e, mpi.ErrLost):
			err = errors.Join(err, e)
		}
	}()
	places, err := r.places()
	if err != nil {
		return err
	}
	if err := r.agree(r.open(places, local, check)); err != nil {
		return err
	}
	r.opt = mpi.Options{Timeout: f.Timeout, Broken: r.broken}
	f.ranks = r
	if f.Sweeps && w.Rank() > 0 {
		return r.serveAll(ctx)
	}
	if !f.Sweeps {
		if err := r.join(); err != nil {
			return err
		}
		if w.Rank() > 0 {
			return r.serve(ctx)
		}
	}
	if text := boundToOne(places, os.Getenv); text != "" {
		a.Warn(text)
	}
	err = drive()
	if f.Sweeps {
		_, lost := w.Gather("") // no more
		err = errors.Join(err, lost)
	}
	return err
}
