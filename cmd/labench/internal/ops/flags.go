package ops

import (
	"errors"

	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/record"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
)

// flags are the flags of an operation, on this machine or on a cluster.
type flags struct {
	setup.OpFlags
	record  record.Flags
	cluster node.ClusterFlags
}

// check returns what is wrong with the flags that concern the run and not the operation.
func (f *flags) check() cli.Problems {
	errs := f.record.Check(f.JSON)
	errs.Note(f.cluster.Check(f.Spec.Op, f.Given))
	f.cluster.Policied, f.cluster.Each = !f.ByOwner(), *f.Local()
	f.Spec.Distributed = f.cluster.Distributed // which decides what else may be given
	if f.Sched() == setup.Owner && !f.cluster.Distributed {
		errs.Note(errors.New("--sched owner is for --distributed: other matrices have no owners"))
	}
	if f.record.Replay != "" && (f.cluster.Asked() || f.Resources != "" || f.Devices != "none") {
		errs.Note(errors.New("--record is of workers on one machine that are alike: not with --cluster, --resources or --devices"))
	}
	return errs
}
