package plan

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/la"
)

// Runtime is a [sim.Runtime] on a machine of one node, or a [sim.Cluster] on several. A
// sim.Cluster is an exec.Keeper, which distributed matrices need.
type Runtime interface {
	exec.Runtime
	// Reset starts the prediction anew, without the tasks so far.
	Reset()
	Prediction() *sim.Prediction
}

// Run executes a program in virtual time, on an engine with tiles of nb×nb, and predicts its
// cost. nb = 0 lets la choose. Nothing is computed, so the program must not look at elements of
// results, and its matrices need no content: the system provides no memory for pages that nobody
// writes. Without a policy in opt, [sim.Machine.Scheduling] chooses it.
//
// The error is the program's, or a *sim.MachineError.
func Run(ctx context.Context, opt sim.Options, nb int,
	program func(ctx context.Context, rt Runtime, e *la.Engine) error) (p *sim.Prediction, err error) {
	if err := opt.Machine.Validate(); err != nil {
		return nil, err
	}
	opt.Context = ctx
	if opt.NewPolicy == nil {
		opt.Policy = opt.Machine.Scheduling(opt.Policy)
	}
	var rt Runtime
	if opt.Machine.Count() > 1 {
		rt, err = sim.NewCluster(opt)
	} else {
		rt, err = sim.New(opt)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	// A problem for one kernel has tasks, too: there are no kernels.
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb, Direct: -1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := program(ctx, rt, e); err != nil {
		return nil, err
	}
	return rt.Prediction(), nil
}
