package mpi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
	"github.com/tessera-la/tessera/versions"
)

// Comm is the communicator of a task of several ranks. No other task uses it.
type Comm struct {
	group *transport.Group
	lib   *libmpi.Group
}

// errStays says that a rank goes on though its task has failed.
var errStays = errors.New("mpi: a rank of a task still runs, 30 s after the task has failed on another rank; does it wait for that rank in MPI?")

// Run returns what a version of an op runs on each rank of a task that was submitted by cluster.SubmitGroup, on nodes
// of this world: it makes a communicator of these ranks, calls f, and frees the communicator. f may call MPI with
// the communicator as it likes, from several threads, too. It may finish with an operand before its end by
// Call.Finished. Call.Ctx ends when another rank has failed.
//
// If f returns an error or panics, the task fails. MPI cannot wake ranks that wait for this one in a call of MPI. So f
// should have all ranks agree before they do that, by [Comm.Agree]. If a rank has not returned 30 s after
// its task has failed, Options.Broken is called. After a failure the communicator is not freed, as another rank may
// still use it.
//
// The error of a call is f's; a *[ThreadError] if MPI was not initialised with MPI_THREAD_MULTIPLE; a *[CommError] if
// the call is not that of a rank, or of another world; or an *[Error].
func (w *World) Run(f func(*versions.Call, *Comm) error) func(*versions.Call) error {
	return func(call *versions.Call) error {
		g, ok := call.Local.(*transport.Group)
		if !ok {
			return &CommError{"the task is not one of several ranks: submit it by cluster.SubmitGroup"}
		}
		ctx, cancel := context.WithCancel(call.Ctx)
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go w.wait(g.Failed, done, cancel)
		c, err := w.comm(g)
		if err != nil {
			return err
		}
		x := *call
		x.Ctx = ctx
		if err := f(&x, c); err != nil {
			return err
		}
		return c.lib.Free()
	}
}

// wait cancels a call if its task fails on another rank, and notes that MPI cannot go on if the call does not end then.
func (w *World) wait(failed, done <-chan struct{}, cancel func()) {
	select {
	case <-done:
		return
	case <-failed:
	}
	cancel()
	t := time.NewTimer(w.stay)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		w.broken(errStays)
	}
}

// groupTags is the number of tags of groups. Groups that are made at the same time have no rank in common.
const groupTags = 1 << 15

// comm makes the communicator of a task. The error is that of Run.
func (w *World) comm(g *transport.Group) (*Comm, error) {
	if !w.lib.Multiple {
		return nil, &ThreadError{Multiple: true}
	}
	of := map[string]int{}
	for r := range w.lib.Size {
		of[w.name(r)] = r
	}
	ranks := make([]int, len(g.Nodes))
	for i, name := range g.Nodes {
		r, ok := of[name]
		if !ok {
			return nil, &CommError{fmt.Sprintf("node %s is no rank of MPI", name)}
		}
		ranks[i] = r
	}
	lib, err := w.lib.Group(ranks, int(g.Number%groupTags))
	if err != nil {
		return nil, err
	}
	return &Comm{g, lib}, nil
}

// Rank returns the number of this process among the ranks of the task.
func (c *Comm) Rank() int { return c.group.Rank }

// Size returns how many ranks the task has.
func (c *Comm) Size() int { return len(c.group.Nodes) }

// Handle returns the communicator's handle in Fortran, an INTEGER. In C it is MPI_Comm_f2c(handle). An error of MPI
// in calls with it is returned (MPI_ERRORS_RETURN).
func (c *Comm) Handle() int32 { return c.lib.Fortran() }

// Agree returns on all ranks nil if all have passed nil, and otherwise a *[RankError] with the error of the first rank
// that has passed one. All ranks must call it: it is collective. The error may also be an *[Error].
func (c *Comm) Agree(own error) error {
	who, text := c.Size(), ""
	if own != nil {
		who, text = c.Rank(), own.Error()
	}
	first, text, err := c.lib.Agree(who, text)
	switch {
	case err != nil:
		return err
	case first == c.Size():
		return nil
	case first == c.Rank():
		return &RankError{Rank: first, Text: own.Error(), own: own}
	}
	return &RankError{Rank: first, Text: text}
}
