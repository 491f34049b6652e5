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

// passOn gives the flags of a cluster what they need to know of those of the operation, and the other way round. It
// comes before check and Parse.
func (f *flags) passOn() {
	f.cluster.Policied, f.cluster.Each = !f.ByOwner(), *f.Local()
	f.Spec.Distributed = f.cluster.Distributed // which decides what else may be given
}

// check returns what is wrong with the flags that concern the run and not the operation.
func (f *flags) check() cli.Problems {
	errs := f.record.Check(f.JSON)
	errs.Note(f.cluster.Check(f.Spec.Op, f.Given))
	if f.Sched() == setup.Owner && !f.cluster.Distributed {
		errs.Note(errors.New("--sched owner is for --distributed: only tiles of distributed matrices have owners"))
	}
	if f.record.Recording != "" && (f.cluster.Asked() || f.Resources != "" || f.Devices != "none") {
		errs.Note(errors.New("--record excludes --cluster, --resources and --devices: it is for workers of one kind on one machine"))
	}
	return errs
}
