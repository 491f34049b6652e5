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

// Hush has this process print nothing of what rank 0 prints, if it is another one of the
// processes that a launcher of MPI has started.
func Hush(a *cli.App, args []string) {
	a.Each = a.Err
	if rank, _, ok := mpi.Launched(); ok && rank > 0 && asksForMPI(args) {
		a.Out, a.Err = io.Discard, io.Discard
	}
}

// OnRanks has drive run. With --cluster mpi it does so on rank 0 only, which others serve. All
// compute with what local describes; and before anything begins, check says on each what is
// wrong with the command line.
func (f *ClusterFlags) OnRanks(ctx context.Context, a *cli.App, local *setup.LocalFlags, check, drive func() error) (err error) {
	if !slices.Equal(f.Words, []string{"mpi"}) {
		return drive()
	}
	w, err := mpi.Open()
	switch {
	case errors.Is(err, mpi.ErrAbsent):
		if rank, _, _ := mpi.Launched(); rank > 0 { // rank 0 may be the one
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
			r.tell(e) // what was to be done is
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
	if r.node, err = w.New(mpi.Options{Timeout: f.Timeout, Broken: r.broken}); err != nil {
		return err
	}
	f.ranks = r
	if w.Rank() > 0 {
		return r.serve(ctx)
	}
	if text := boundToOne(places, os.Getenv); text != "" {
		a.Warn(text)
	}
	return drive()
}
