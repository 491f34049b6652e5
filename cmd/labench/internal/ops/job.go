package ops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/jobs"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/internal/cli"
)

// jobTakes returns the flags that the operation of a job may have: those that name no file and
// nothing of the machine on which it runs. Files are the agent's, and have names of its own; what
// runs there beside the job is not for a client to say. It lists what is allowed, so that a flag
// that is new is refused until somebody has thought of it: a client may be a stranger to the
// agent's user.
func jobTakes() []string {
	return []string{"n", "m", "k", "nrhs", "method", "pivot", "on-breakdown", "tree", "variant", "mixed", "domain", "ib", "nb", "type", "matrix", "seed", "repeat", "warmup", "verify", "every", "distributed", "agents", "copies", "sched"}
}

// CheckJob returns what is wrong with a job: with its own words, and then with the command line that
// an agent makes of them. So nothing waits in a queue that cannot begin, and what is refused is said
// in the client's words.
//
//	1  the words as they came: an operation, flags that a job may have, and nothing else
//	2  what submit adds to them: --keep, --checkpoint
//	3  the command line of the process, read and validated as that will do it
func CheckJob(job *jobs.Spec) error {
	args, known := job.Args, bench.Operations()
	at := slices.IndexFunc(known, func(o bench.Operation) bool { return o.Name == args[0] })
	if at < 0 {
		return &cli.UnknownError{What: "operation", Word: args[0], Known: bench.Ops()}
	}
	// The address shows whether the words end where they seem to: a last flag that lacks its value
	// would take --cluster for it, and after "--" there are no flags.
	var f flags
	cmd := f.Command(known[at], nil) // which is never run
	f.cluster.Register(cmd.Flags())
	if err := cmd.ParseFlags(append(slices.Clone(args[1:]), "--cluster", "127.0.0.1:1")); err != nil {
		return cli.FlagError(cmd, err)
	}
	// Numbers are bounded here, because some are multiplied before anybody checks them.
	var errs cli.Problems
	cmd.Flags().Visit(func(x *pflag.Flag) {
		if n, wrong := cmd.Flags().GetInt(x.Name); x.Name != "cluster" && !slices.Contains(jobTakes(), x.Name) {
			errs.Note(fmt.Errorf("a job has no --%s: that is the agent's, or one of labench submit", x.Name))
		} else if wrong == nil && (n < math.MinInt32 || n > math.MaxInt32) {
			errs.Note(fmt.Errorf("--%s is %d: that is too large", x.Name, n))
		}
	})
	if cmd.Flags().NArg() > 0 || f.cluster.Words[0] != "127.0.0.1:1" || len(f.cluster.Words) > 1 {
		errs.Note(fmt.Errorf("%s takes flags only, and no --cluster", args[0]))
	}
	if job.Keep && !f.cluster.Distributed {
		errs.Note(errors.New("--keep is for --distributed: the nodes write the matrix, each its part"))
	}
	if job.Checkpoint && !f.Op.Takes("checkpoint") {
		errs.Note(fmt.Errorf("--checkpoint is for factorizations, and %s is none", args[0]))
	}
	if !job.Checkpoint && f.Given("every") {
		errs.Note(errors.New("--every is for labench submit --checkpoint"))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// Now as the agent starts it. Its name and address do not matter: it puts them in itself.
	f = flags{}
	cmd = f.Command(known[at], nil)
	f.cluster.Register(cmd.Flags())
	cmd.Flags().IntVar(&f.cluster.Job, "job", 0, "")
	if err := cmd.ParseFlags(node.JobWords(&jobs.Job{Spec: *job}, "job", &node.Flags{Name: "node"}, "127.0.0.1:1")[1:]); err != nil {
		return cli.FlagError(cmd, err)
	}
	_, err := f.Parse(f.check())
	return err
}

// reportForPeople writes the report of a job as its user would have seen it: into the log, and for
// labench result.
func reportForPeople(a *cli.App, s bench.Spec, r bench.Result) error {
	var text bytes.Buffer
	if err := Print(&cli.App{Out: &text}, s, r); err != nil {
		return err
	}
	_, wrong := a.Err.Write(text.Bytes())
	var marked strings.Builder
	for line := range strings.Lines(text.String()) {
		marked.WriteString(jobs.TextPrefix + line)
	}
	_, err := io.WriteString(a.Out, marked.String())
	return errors.Join(wrong, err)
}

// teller returns what tells who has started this process how far it is, at most five times a
// second, in lines beside the report.
func teller(w io.Writer) func(done, total int) {
	var next time.Time
	return func(done, total int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(200 * time.Millisecond)
			_, _ = io.WriteString(w, "progress "+strconv.Itoa(done)+" "+strconv.Itoa(total)+"\n")
		}
	}
}
