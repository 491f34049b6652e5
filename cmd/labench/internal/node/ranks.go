package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi"
)

// SaidError is an error that rank 0 prints, and for which it exits.
type SaidError struct{ error }

func (e *SaidError) Unwrap() error { return e.error }

// LostError says that MPI ends because a rank was lost.
type LostError struct{ error }

func (e *LostError) Unwrap() error { return e.error }

// ranks is this process as one of the ranks that an MPI launcher started.
type ranks struct {
	world *mpi.World
	a     *cli.App
	rt    *exec.Local // on which this rank computes
	end   func() error
	node  transport.Transport // of the current driver
	opt   mpi.Options
}

// open takes this rank's share of its machine and opens its runtime.
func (r *ranks) open(places []place, local *setup.LocalFlags, check func() error) error {
	if r.world.Size() < 2 {
		return cli.Usage(errors.New("--cluster mpi: this process is alone; start several, as in: mpirun -n 4 labench …"))
	}
	if err := confine(share(places, r.world.Rank(), topo.Detect().Cores)); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	var err error
	local.Node = r.world.Name(r.world.Rank())
	r.rt, r.end, err = local.Open(r.a)
	return err
}

// close closes the runtime. A node that has not been started is started and closed, so that the other ranks
// learn that this one has left.
func (r *ranks) close() (err error) {
	if r.node != nil {
		if r.node.Start(func(string, []byte) {}, func(transport.Event) {}) == nil {
			err = r.node.Close() // tells the other ranks
		}
	}
	if r.end != nil {
		err = errors.Join(err, r.end())
	}
	return err
}

// agree tells all ranks whether one of them has an error, and returns one such error. On ranks other than 0 it
// is a *SaidError, since rank 0 prints it.
func (r *ranks) agree(err error) error {
	w, text := r.world, ""
	if err != nil {
		text = err.Error()
	}
	texts, failed := w.Gather(text)
	if failed != nil {
		return failed
	}
	of := map[string][]string{}
	for rank, t := range texts {
		if t != "" && t != texts[0] {
			of[t] = append(of[t], fmt.Sprint(rank))
		}
	}
	for t, ranks := range of {
		who := "rank"
		if len(ranks) > 1 {
			who = "ranks"
		}
		err = errors.Join(err, cli.Usage(fmt.Errorf("%s %s: %s", who, strings.Join(ranks, ", "), t)))
	}
	if err != nil && w.Rank() > 0 {
		return &SaidError{err}
	}
	return err
}

// places returns the places of all ranks.
func (r *ranks) places() (all []place, err error) {
	texts, err := r.world.Gather(here(r.world.Host(r.world.Rank()), topo.Detect(), os.Getenv).text())
	for _, t := range texts {
		if err == nil {
			var p place
			p, err = parsePlace(t)
			all = append(all, p)
		}
	}
	return all, err
}

// broken ends all ranks.
func (r *ranks) broken(err error) {
	mustEnd()
	r.tell(fmt.Errorf("MPI cannot go on: %w", err))
	r.world.Abort(cli.ExitLost)
}

// mustEnd ends this process in 30 s at most. A launcher that was lost with its machine takes no output any
// more, and Open MPI may have filled the pipe to it: then printing waits for ever.
func mustEnd() {
	time.AfterFunc(30*time.Second, func() { os.Exit(cli.ExitLost) })
}

// options returns the node of this rank. The nodes of serving ranks end when rank 0 leaves.
func (r *ranks) options() cluster.Options {
	opt := nodeOptions(r.node, r.rt, slog.New(&cli.Sentences{To: r.a.Each, Label: "labench: " + r.world.Name(r.world.Rank()) + ": "}))
	opt.Driver = r.world.Name(0)
	return opt
}

// tell prints what only this rank knows.
func (r *ranks) tell(err error) {
	report.FprintWrapped(r.a.Each, "labench: "+r.world.Name(r.world.Rank())+": ", err.Error())
}

// join makes this rank a node of a network of all ranks. All ranks call it.
func (r *ranks) join() (err error) {
	r.node, err = r.world.New(r.opt)
	return err
}

// another is what rank 0 tells the others before it drives once more.
const another = "another"

// next has the other ranks serve this one once more.
func (r *ranks) next() error {
	if _, err := r.world.Gather(another); err != nil {
		return err
	}
	return r.join()
}

// serveAll serves rank 0 each time that it drives.
func (r *ranks) serveAll(ctx context.Context) error {
	for {
		texts, err := r.world.Gather("")
		if err != nil || texts[0] != another {
			return err
		}
		if err = r.join(); err == nil {
			err = r.serve(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// serve computes for rank 0 until rank 0 leaves. It ignores the end of ctx: rank 0 decides when to end.
func (r *ranks) serve(ctx context.Context) error {
	err := cluster.Serve(context.WithoutCancel(ctx), r.options())
	if lost, ok := errors.AsType[*cluster.NodeLostError](err); ok {
		mustEnd()
		return &LostError{fmt.Errorf("rank 0, which drives, is lost: %w", lost.Err)}
	}
	return err
}
