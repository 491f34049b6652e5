package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/jobs"
	"github.com/tessera-la/tessera/internal/atomicfile"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/transport/web"
)

// The commands here only ask an agent, over HTTP. What they ask is in internal/jobs; how an agent
// answers is in jobs_agent.go.
//
//	submit   checks the operation and its flags as the agent will; then the job, and its input,
//	         are the agent's, and the number is all that is kept here
//	status   where one job stands, or all
//	result   the files that a job has left: report, log, matrix
//	cancel   ends a job; with --remove, forgets one that has ended
//
// What they make of a job depends on where it stands (jobs.State):
//
//	          queued           running               has ended
//	status    for how long     how much is done      after how long, and why it has failed
//	result    refused          its log so far        report, log, matrix; refused if it has left none
//	cancel    it never began   its process is told   nothing: it stays as it is
//	--remove  refused          refused               it is forgotten, with its files
//
// They fail if the agent refuses, and submit --wait and result also if the job has not ended well:
// a script sees by the exit code what it would have seen of the operation itself.

// jobFlags is where jobs go to, as a command line says it. All commands about jobs have these.
type jobFlags struct{ to, certs string }

func (f *jobFlags) register(fl *pflag.FlagSet) {
	fl.SortFlags = false
	fl.StringVar(&f.to, "to", "", "address at which an agent takes jobs (its --jobs)")
	fl.StringVar(&f.certs, "certs", "", "directory with a certificate of the cluster (labench cluster init); without it, loopback addresses only")
}

// client returns who asks there. It does not connect yet: an agent that is not there is the error of
// the first question.
func (f *jobFlags) client(a *cli.App) (*jobs.Client, error) {
	if f.to == "" {
		return nil, cli.Usage(errors.New("which agent? --to wants the address at which one takes jobs (its --jobs), as in --to 127.0.0.1:7500"))
	}
	config, err := trusted(f.to, f.certs)
	if err != nil {
		return nil, err
	}
	if config != nil {
		warnExposed(a, f.certs)
		// Any name of the cluster will do: an agent may be asked at another address than its name's.
		_, config = web.Secure(config)
	}
	return jobs.NewClient(f.to, config), nil
}

// NewSubmitCommand returns the command labench submit. Check returns what is wrong with a job.
func NewSubmitCommand(a *cli.App, check func(*jobs.Spec) error) *cobra.Command {
	var f jobFlags
	var s jobs.Spec
	var input string
	var wait bool
	cmd := &cobra.Command{
		Use:   "submit [flags] OP [flags of the operation]",
		Short: "Submit an operation to an agent, which runs it on its cluster",
		Long: `Submit an operation to an agent, which runs it as a job on its cluster.

The job outlives this command. It is run once and verified, unless the flags of
the operation say something else: --repeat, --verify=false. It has the number
that is printed: see labench status, result and cancel.`,
		Example: `  labench agent --jobs 127.0.0.1:7500 --spool jobs       takes jobs
  labench submit --to 127.0.0.1:7500 cholesky -n 16384 --distributed
  labench submit --to 127.0.0.1:7500 --input a.npy --keep lu --distributed`,
		// What is wrong with the job is found here, before an input of gigabytes is on its way.
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(fmt.Errorf("want an operation: %s", strings.Join(bench.Ops(), ", ")))
			}
			// The agent gives the file a name of its own, which says only what is in it.
			for _, end := range jobs.Inputs() {
				if strings.HasSuffix(input, end) {
					s.Input = end
				}
			}
			if input != "" && s.Input == "" {
				return cli.Usage(fmt.Errorf("--input is %s, want a name that ends with one of %s", input, strings.Join(jobs.Inputs(), ", ")))
			}
			s.Args = args
			return cli.Usage(check(&s))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return submit(cmd.Context(), a, &f, s, input, wait)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // what follows the operation is the operation's
	f.register(fl)
	fl.StringVar(&input, "input", "", "matrix file for A, which is sent: "+strings.Join(jobs.Inputs(), ", "))
	fl.BoolVar(&s.Keep, "keep", false, "keep the matrix of the result, of an operation that is --distributed")
	fl.BoolVar(&s.Checkpoint, "checkpoint", false, "keep the state of a factorization, which goes on from there if the agent ends and is started again")
	fl.BoolVar(&wait, "wait", false, "wait until the job has ended, and fail if it has")
	return cmd
}

// submit submits a job, and says which one it is. If the context ends while it waits the job goes
// on: it is the agent's. The input is read from the disk as it is sent, so it may be larger than
// the memory here.
func submit(ctx context.Context, a *cli.App, f *jobFlags, s jobs.Spec, path string, wait bool) error {
	var file io.Reader
	var size int64
	if path != "" {
		x, err := os.Open(path)
		if err != nil {
			return err
		}
		defer x.Close()
		info, err := x.Stat() // an agent wants to know first how large it is
		if err != nil {
			return err
		}
		file, size = x, info.Size()
	}
	c, err := f.client(a)
	if err != nil {
		return err
	}
	defer c.Close()
	// The agent answers when the input is on its disk, and the job written down: it is not lost from then on.
	j, err := c.Submit(ctx, s, file, size)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "job %d is %s\n", j.ID, j.State)
	for wait && !j.State.Over() { // five times a second: an agent answers from memory
		select {
		case <-ctx.Done():
			fmt.Fprintf(a.Out, "job %d goes on\n", j.ID)
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
		if j, err = c.Job(ctx, j.ID); err != nil {
			return err
		}
	}
	if !wait {
		return nil // a job that has failed by now was submitted all the same
	}
	// From here on the exit code is the job's. Its report is for labench result: it may be long.
	if j.State == jobs.Done {
		fmt.Fprintf(a.Out, "job %d is done\n", j.ID)
		return nil
	}
	return unwell(j)
}

// unwell returns the error of a job that has ended, and not well: with what its process has said, in
// lines of its own what can be done.
func unwell(j jobs.Job) error {
	text := fmt.Sprintf("job %d %s", j.ID, j.State.Is())
	if j.Error != "" {
		text += ": " + j.Error
	}
	return errors.New(text)
}

// jobCommand returns a command about a job or, if all is set and none is named, about all of them:
// run gets number 0 then.
func jobCommand(a *cli.App, use, short, example string, all bool, run func(ctx context.Context, c *jobs.Client, id int) error) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && !all {
				return cli.Usage(errors.New("want the number of one job"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := 0 // no job has that number
			if len(args) > 0 {
				var err error
				if id, err = strconv.Atoi(args[0]); err != nil || id < 1 {
					return cli.Usage(fmt.Errorf("%q is no number of a job", args[0]))
				}
			}
			c, err := f.client(a)
			if err != nil {
				return err
			}
			defer c.Close()
			return run(cmd.Context(), c, id)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// NewStatusCommand returns the command labench status. With --json scripts get the jobs as the agent
// has them.
func NewStatusCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := jobCommand(a, "status [JOB]", "Say where jobs of an agent stand", `  labench status --to 127.0.0.1:7500
  labench status --to 127.0.0.1:7500 7`, true, func(ctx context.Context, c *jobs.Client, id int) (err error) {
		all := make([]jobs.Job, 1) // one that is asked for is listed as several are
		if id > 0 {
			all[0], err = c.Job(ctx, id)
		} else {
			all, err = c.Jobs(ctx)
		}
		switch {
		case err != nil:
			return err
		case asJSON && id > 0:
			return a.Document(all[0])
		case asJSON:
			return a.Document(all)
		}
		return listJobs(a, all, time.Now())
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listJobs prints where jobs stand: the operation as it was submitted, and below it in what state the
// job is, for how long, from whom, and why it has failed.
//
//	7  cholesky -n 16384 --distributed
//	     running for 12s, 40 %, about 18s left, from alice
//	8  lu --distributed
//	     queued for 9s
func listJobs(a *cli.App, all []jobs.Job, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Out, "no jobs")
		return err
	}
	for _, j := range all {
		text := string(j.State)
		switch { // a job that was cancelled while it waited never began: of that there is no time
		case j.State == jobs.Running:
			text += fmt.Sprintf(" for %v", now.Sub(j.Began).Round(time.Second))
			if j.Part > 0 { // until something is done it is not known
				text += fmt.Sprintf(", %.0f %%", 100*j.Part)
			}
			if j.Left > 0 {
				text += fmt.Sprintf(", about %v left", time.Duration(j.Left*float64(time.Second)).Round(time.Second))
			}
		case j.State == jobs.Queued:
			text += fmt.Sprintf(" for %v", now.Sub(j.Submitted).Round(time.Second))
		case !j.Began.IsZero() && !j.Ended.IsZero(): // of an end that could not be written there is no time
			text += fmt.Sprintf(" after %v", j.Ended.Sub(j.Began).Round(10*time.Millisecond))
		}
		if j.Begun > 1 {
			text += fmt.Sprintf(", begun %d times", j.Begun)
		}
		if j.Owner != "" {
			text += ", from " + j.Owner
		}
		if j.Error != "" {
			// What to do begins a line, below what is wrong.
			text += ": " + strings.ReplaceAll(j.Error, "\n", "\n  ")
		}
		if err := report.FprintWrapped(a.Out, fmt.Sprintf("%4d  ", j.ID), strings.Join(j.Args, " ")+"\n  "+text); err != nil {
			return err
		}
	}
	return nil
}

// NewCancelCommand returns the command labench cancel. A job that waits is cancelled at once; the
// process of one that runs is told to end, and killed if it does not.
func NewCancelCommand(a *cli.App) *cobra.Command {
	var remove bool
	cmd := jobCommand(a, "cancel JOB", "Cancel a job of an agent, or remove one that has ended", `  labench cancel --to 127.0.0.1:7500 7
  labench cancel --to 127.0.0.1:7500 7 --remove`, false, func(ctx context.Context, c *jobs.Client, id int) error {
		// An agent refuses to remove a job that has not ended, so the two are never mistaken.
		do := c.Cancel
		if remove {
			do = c.Remove
		}
		j, err := do(ctx, id)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("job %d %s", id, j.State.Is())
		switch j.State {
		case jobs.Running: // its process has been told; it may take a while
			text = fmt.Sprintf("job %d is told to end: it is cancelled when its process has ended", id)
		case jobs.Done:
			text = fmt.Sprintf("job %d was done before, and stays so: --remove removes it", id)
		case jobs.Failed:
			text = fmt.Sprintf("job %d had failed before, and stays so: --remove removes it", id)
		}
		_, err = fmt.Fprintln(a.Out, text)
		return err
	})
	cmd.Flags().BoolVar(&remove, "remove", false, "remove a job that has ended, with its report, log and matrix")
	return cmd
}

// counter counts the bytes that go through it.
type counter struct {
	w io.Writer
	n int
}

// Write implements [io.Writer].
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}

// NewResultCommand returns the command labench result. A job's report and log are printed as the
// operation would have printed them; a matrix is a file, and there as a whole or not at all.
func NewResultCommand(a *cli.App) *cobra.Command {
	var log, asJSON bool
	var matrix string
	cmd := jobCommand(a, "result JOB", "Print the report of a job, or its log, or get its matrix", `  labench result --to 127.0.0.1:7500 7
  labench result --to 127.0.0.1:7500 7 --matrix factor.npy`, false, func(ctx context.Context, c *jobs.Client, id int) error {
		switch {
		case log && matrix != "", log && asJSON, asJSON && matrix != "":
			return cli.Usage(errors.New("--json, --log and --matrix exclude each other"))
		case matrix != "" && !strings.HasSuffix(matrix, ".npy"):
			return cli.Usage(&cli.ListError{Flag: "matrix", Element: matrix, Allowed: "a file .npy, which is what the matrix is"})
		case log:
			to := &counter{w: a.Out}
			err := c.Fetch(ctx, id, "log", to)
			if err == nil && to.n == 0 {
				_, err = fmt.Fprintf(a.Err, "labench: job %d has said nothing yet\n", id)
			}
			return err
		case matrix == "":
			what := "text"
			if asJSON {
				what = "report"
			}
			err := c.Fetch(ctx, id, what, a.Out)
			if e, ok := errors.AsType[*jobs.Error](err); ok && e.Kind == jobs.NotFound && !asJSON {
				err = c.Fetch(ctx, id, "report", a.Out) // that of an agent which keeps no text
			}
			if err != nil {
				return err
			}
			// There may be a report although the job has failed.
			j, err := c.Job(ctx, id)
			if err == nil && j.State != jobs.Done { // its result is wrong, and the report says so
				err = unwell(j)
			}
			return err
		}
		// Half a matrix is none. Ctrl-C ends Fetch by ctx, so that what has come is removed.
		return atomicfile.Write(matrix, 0o666, func(f *os.File) error { return c.Fetch(ctx, id, "matrix", f) })
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	cmd.Flags().BoolVar(&log, "log", false, "print the job's log, also while it runs")
	cmd.Flags().StringVar(&matrix, "matrix", "", ".npy file to write the matrix of the result to: see labench submit --keep")
	return cmd
}
