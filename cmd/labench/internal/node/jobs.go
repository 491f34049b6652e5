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

// The commands here only send requests to an agent, over HTTP. The protocol is in internal/jobs. taking.go is
// the agent's side.
//
//	submit   checks the operation and its flags as the agent will; then the agent keeps
//	         the job and its input, and only the number is kept here
//	status   the state of one job or of all
//	result   the files of a job: report, log, matrix
//	cancel   ends a job; with --remove, removes one that has ended
//
// Their effect depends on the state of the job (jobs.State):
//
//	          queued           running               ended
//	status    waiting time     how much is done      run time, and why it has failed
//	result    refused          the log so far        report, log, matrix; refused if there are none
//	cancel    it never starts  its process is told   no effect
//	--remove  refused          refused               the job is removed with its files
//
// A command fails if the agent refuses. submit --wait and result also fail if the job has failed: their exit
// code tells a script what that of the operation itself would have told.

// jobFlags are the flags of all commands about jobs: the agent, and the certificates.
type jobFlags struct{ to, certs string }

func (f *jobFlags) register(fl *pflag.FlagSet) {
	fl.SortFlags = false
	fl.StringVar(&f.to, "to", "", "address at which an agent takes jobs (its --jobs)")
	fl.StringVar(&f.certs, "certs", "", "directory with a certificate of the cluster (labench cluster init); without it, loopback addresses only")
}

// client returns a client of the agent. It does not connect: if the agent does not answer, the first request
// fails.
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
		// Accept any name of the cluster: the agent may be reached at an address other than its name's.
		_, config = web.Secure(config)
	}
	return jobs.NewClient(f.to, config), nil
}

// NewSubmitCommand returns the command labench submit. check returns what is wrong with a job.
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
		// Check the job here, before sending an input of gigabytes.
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(fmt.Errorf("want an operation: %s", strings.Join(bench.Ops(), ", ")))
			}
			// The agent names the file itself. Only the ending, which is the format, is sent.
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
	fl.SetInterspersed(false) // flags after the operation belong to the operation
	f.register(fl)
	fl.StringVar(&input, "input", "", "matrix file for A, which is sent: "+strings.Join(jobs.Inputs(), ", "))
	fl.BoolVar(&s.Keep, "keep", false, "keep the matrix of the result, of an operation that is --distributed")
	fl.BoolVar(&s.Checkpoint, "checkpoint", false, "keep the state of a factorization, which goes on from there if the agent ends and is started again")
	fl.BoolVar(&wait, "wait", false, "wait until the job has ended, and fail if it has")
	return cmd
}

// submit submits a job and prints its number. If ctx ends while it waits for the job, the job goes on. The
// input is read from disk while it is sent, so it may be larger than the memory.
func submit(ctx context.Context, a *cli.App, f *jobFlags, s jobs.Spec, path string, wait bool) error {
	var file io.Reader
	var size int64
	if path != "" {
		x, err := os.Open(path)
		if err != nil {
			return err
		}
		defer x.Close()
		info, err := x.Stat() // the agent must know the size first
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
	// The agent answers once the input and the job are on its disk: from then on the job is not lost.
	j, err := c.Submit(ctx, s, file, size)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "job %d is %s\n", j.ID, j.State)
	for wait && !j.State.Over() { // five times a second: the agent answers from memory
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
		return nil // submitting succeeded even if the job has failed by now
	}
	// From here on the exit code is that of the job. labench result prints its report, which may be long.
	if j.State == jobs.Done {
		fmt.Fprintf(a.Out, "job %d is done\n", j.ID)
		return nil
	}
	return unwell(j)
}

// unwell returns the error of a job that has ended but is not Done: the last message of its process, and
// remedies in further lines.
func unwell(j jobs.Job) error {
	text := fmt.Sprintf("job %d %s", j.ID, j.State.Is())
	if j.Error != "" {
		text += ": " + j.Error
	}
	return errors.New(text)
}

// jobCommand returns a command about a job. If all is set and no job is named, the command is about all jobs,
// and run gets number 0.
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
			id := 0 // means all jobs
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

// NewStatusCommand returns the command labench status. With --json it prints the jobs as the agent sends them.
func NewStatusCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := jobCommand(a, "status [JOB]", "Say where jobs of an agent stand", `  labench status --to 127.0.0.1:7500
  labench status --to 127.0.0.1:7500 7`, true, func(ctx context.Context, c *jobs.Client, id int) (err error) {
		all := make([]jobs.Job, 1) // a single job is listed like several
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

// listJobs prints the states of jobs: the operation as submitted, and below it the state, for how long, from
// which client, and why it has failed.
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
		switch { // a job that was cancelled in the queue never started, so there is no time
		case j.State == jobs.Running:
			text += fmt.Sprintf(" for %v", now.Sub(j.Began).Round(time.Second))
			if j.Part > 0 { // unknown until a part is done
				text += fmt.Sprintf(", %.0f %%", 100*j.Part)
			}
			if j.Left > 0 {
				text += fmt.Sprintf(", about %v left", time.Duration(j.Left*float64(time.Second)).Round(time.Second))
			}
		case j.State == jobs.Queued:
			text += fmt.Sprintf(" for %v", now.Sub(j.Submitted).Round(time.Second))
		case !j.Began.IsZero() && !j.Ended.IsZero(): // the time of an end that could not be written is unknown
			text += fmt.Sprintf(" after %v", j.Ended.Sub(j.Began).Round(10*time.Millisecond))
		}
		if j.Begun > 1 {
			text += fmt.Sprintf(", begun %d times", j.Begun)
		}
		if j.Owner != "" {
			text += ", from " + j.Owner
		}
		if j.Error != "" {
			// Remedies begin new lines below the error.
			text += ": " + strings.ReplaceAll(j.Error, "\n", "\n  ")
		}
		if err := report.FprintWrapped(a.Out, fmt.Sprintf("%4d  ", j.ID), strings.Join(j.Args, " ")+"\n  "+text); err != nil {
			return err
		}
	}
	return nil
}

// NewCancelCommand returns the command labench cancel. A waiting job is cancelled at once. The process of a
// running job is told to end, and killed if it does not.
func NewCancelCommand(a *cli.App) *cobra.Command {
	var remove bool
	cmd := jobCommand(a, "cancel JOB", "Cancel a job of an agent, or remove one that has ended", `  labench cancel --to 127.0.0.1:7500 7
  labench cancel --to 127.0.0.1:7500 7 --remove`, false, func(ctx context.Context, c *jobs.Client, id int) error {
		// An agent refuses to remove a job that has not ended, so Remove never acts as Cancel.
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
		case jobs.Running: // its process has been told to end, which may take a while
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

// counter counts the bytes that pass through it.
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

// NewResultCommand returns the command labench result. It prints a job's report and log as the operation would
// have printed them. It writes a matrix to a file, completely or not at all.
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
				err = c.Fetch(ctx, id, "report", a.Out) // the agent keeps no text
			}
			if err != nil {
				return err
			}
			// A failed job may have a report, too.
			j, err := c.Job(ctx, id)
			if err == nil && j.State != jobs.Done { // its result is wrong, and the report says so
				err = unwell(j)
			}
			return err
		}
		// Half a matrix is useless. Ctrl-C ends Fetch through ctx, so that the incomplete file is removed.
		return atomicfile.Write(matrix, 0o666, func(f *os.File) error { return c.Fetch(ctx, id, "matrix", f) })
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	cmd.Flags().BoolVar(&log, "log", false, "print the job's log, also while it runs")
	cmd.Flags().StringVar(&matrix, "matrix", "", ".npy file to write the matrix of the result to: see labench submit --keep")
	return cmd
}
