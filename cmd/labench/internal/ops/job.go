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

// jobTakes returns the flags that the operation of a job may have. They name no file, and nothing of the
// machine on which the job runs: the agent chooses the files, and clients must not control the agent's machine.
// The list contains what is allowed, so a new flag is refused until it is added here. A client may be a
// stranger to the agent's user.
func jobTakes() []string {
	return []string{"n", "m", "k", "nrhs", "method", "pivot", "on-breakdown", "tree", "mixed", "values", "domain", "ib", "nb", "type", "matrix", "seed", "repeat", "warmup", "verify", "every", "distributed", "agents", "copies", "sched"}
}

// CheckJob returns what is wrong with a job. It checks the job's own words first, and then the command line
// that an agent makes of them. So a job that cannot start never waits in a queue, and refusals use the client's
// words. The steps:
//
//	1  the words as received: an operation, flags that a job may have, nothing else
//	2  what submit adds to them: --keep, --checkpoint
//	3  the command line of the process, parsed and validated as the process will do it
func CheckJob(job *jobs.Spec) error {
	args, known := job.Args, bench.Operations()
	at := slices.IndexFunc(known, func(o bench.Operation) bool { return o.Name == args[0] })
	if at < 0 {
		return &cli.UnknownError{What: "operation", Word: args[0], Known: bench.Ops()}
	}
	// The address shows whether the words end where they seem to. A last flag without its value would take
	// --cluster as the value, and after "--" there are no flags.
	var f flags
	cmd := f.Command(known[at], nil) // never run
	f.cluster.Register(cmd.Flags())
	if err := cmd.ParseFlags(append(slices.Clone(args[1:]), "--cluster", "127.0.0.1:1")); err != nil {
		return cli.FlagError(cmd, err)
	}
	// Bound numbers here, since some are multiplied before later checks.
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
	// Now as the agent starts it. Name and address do not matter: the agent sets them.
	f = flags{}
	cmd = f.Command(known[at], nil)
	f.cluster.Register(cmd.Flags())
	cmd.Flags().IntVar(&f.cluster.Job, "job", 0, "")
	if err := cmd.ParseFlags(node.JobWords(&jobs.Job{Spec: *job}, "job", &node.Flags{Name: "node"}, "127.0.0.1:1")[1:]); err != nil {
		return cli.FlagError(cmd, err)
	}
	f.passOn()
	_, err := f.Parse(f.check())
	return err
}

// reportForPeople writes the report of a job as its user would see it, into the log and for labench result.
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

// teller returns a function that reports progress to the process that started this one. It writes lines beside
// the report, at most five times a second.
func teller(w io.Writer) func(done, total int) {
	var next time.Time
	return func(done, total int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(200 * time.Millisecond)
			_, _ = io.WriteString(w, "progress "+strconv.Itoa(done)+" "+strconv.Itoa(total)+"\n")
		}
	}
}
