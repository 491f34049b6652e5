package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/jobs"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/transport/web"
)

// An agent that takes jobs has three parts. They end in the order of their numbers:
//
//	1  the queue's loop    one job at a time, each a process of this program (JobWords)
//	2  the server          answers the commands of jobs.go, from memory
//	3  the spool           a directory with all data of jobs, which outlives the agent

// takingFlags are the flags that make an agent take jobs.
type takingFlags struct {
	listen, spool string
	most          cli.Size
}

func (f *takingFlags) register(fl *pflag.FlagSet) {
	f.most = 16 << 30
	fl.StringVar(&f.listen, "jobs", "", "address to take jobs on (labench submit); needs --spool")
	fl.StringVar(&f.spool, "spool", "", "directory for the jobs: what they are, their logs and results. All nodes have to see it for jobs with --input or --keep that are --distributed, or --checkpoint")
	fl.Var(&f.most, "spool-limit", "bytes that jobs may have in --spool; more are refused")
}

// spoolPatience is how long an agent waits for the spool. The job of an agent that was killed ends within
// patience.
const spoolPatience = patience + 5*time.Second

// check returns what is wrong with the flags of an agent whose certificates are in certs.
func (f *takingFlags) check(certs string) error {
	if f.listen == "" && f.spool == "" {
		return nil
	}
	if f.listen == "" || f.spool == "" {
		return cli.Usage(errors.New("--jobs and --spool need each other"))
	}
	_, err := trusted(f.listen, certs)
	return err
}

// take takes jobs until ctx ends, if the flags ask for it. Each job is a process that drives the agents known
// to this one, which is a node at the address at. end waits for the last job. If clients can no longer submit,
// fail is called with the reason, and end returns it.
func (f *takingFlags) take(ctx context.Context, a *cli.App, n *Flags, at string, check func(*jobs.Spec) error, log *slog.Logger, fail context.CancelCauseFunc) (end func() error, err error) {
	if f.listen == "" { // most agents take no jobs
		return func() error { return nil }, nil
	}
	config, err := trusted(f.listen, n.certs)
	if err != nil {
		return nil, err
	}
	if config != nil {
		config, _ = web.Secure(config)
	}
	// Each job is a process of this program. If it crashes or runs out of memory, the agent and the other jobs
	// survive.
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, err
	}
	opt := jobs.Options{Dir: f.spool, Most: int64(f.most), Check: check, Log: log, Command: func(j *jobs.Job, dir string) *exec.Cmd {
		return exec.Command(self, JobWords(j, dir, n, at)...)
	}}
	ctx, stop := context.WithCancel(ctx) // an error may end the agent, too
	ended := make(chan error, 1)
	go func() { ended <- takeOn(ctx, a, n.Name, l, config, opt, fail) }()
	return func() error {
		stop()
		return <-ended
	}, nil
}

// takeOn takes jobs on l until ctx ends. It first waits for the spool, which an earlier agent's last job may
// still have. Meanwhile the agent has to be a node, or that job would wait for the tasks of the earlier one.
func takeOn(ctx context.Context, a *cli.App, name string, l net.Listener, config *tls.Config, opt jobs.Options, fail context.CancelCauseFunc) error {
	defer l.Close() // the server does not close it if Serve has not begun
	waiting, enough := context.WithTimeout(ctx, spoolPatience)
	q, err := jobs.Open(waiting, opt)
	enough()
	if err != nil {
		if e, ok := errors.AsType[*jobs.Error](err); ok && e.Kind == jobs.Locked && ctx.Err() != nil {
			return nil // the agent ends before it has the spool
		}
		fail(err)
		return err
	}
	fmt.Fprintf(a.Out, "agent %s takes jobs on %s\n", name, l.Addr())
	server := jobs.NewServer(q, config, opt.Log)
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	var broken error
	running.Go(func() {
		if broken = server.Serve(l); broken != nil {
			opt.Log.Error("this agent takes no jobs any more", "error", broken)
			fail(broken)
		}
	})
	// In this order: no new job starts, the server stops, the running job ends, and the spool is released last.
	<-ctx.Done()
	err = server.Close()
	running.Wait()
	return errors.Join(broken, err, q.Close())
}

// JobWords returns the command line of a job. The flags that the agent sets come last, so that they take
// precedence.
func JobWords(j *jobs.Job, dir string, n *Flags, at string) []string {
	// Defaults that the client may override come first. The job drives but does not compute (--idle): the cores
	// belong to the agent.
	words := append([]string{j.Args[0], "--repeat", "1", "--warmup", "0"}, j.Args[1:]...)
	words = append(words, "--cluster", at, "--idle", "--json", "--workers", "1",
		"--name", n.Name, "--job", strconv.Itoa(j.ID), "--node-timeout", n.Timeout.String())
	// The job joins the cluster with the agent's certificate, not the client's.
	if n.certs != "" {
		words = append(words, "--certs", n.certs)
	}
	if j.Spec.Input != "" {
		words = append(words, "--input", j.Input(dir))
	}
	if j.Keep {
		words = append(words, "--output", filepath.Join(dir, jobs.FileMatrix))
	}
	if j.Checkpoint {
		words = append(words, "--checkpoint", filepath.Join(dir, jobs.DirStates))
	}
	return words
}

// untilInputEnds returns a context that also ends when standard input does. That happens when the program that
// started this process ends, even by a crash.
func untilInputEnds(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}

// UntilAgentEnds is untilInputEnds for a job. It exits the process if that has not ended after patience: there
// may be no agent left to kill it.
func UntilAgentEnds(ctx context.Context) context.Context {
	ctx = untilInputEnds(ctx)
	context.AfterFunc(ctx, func() {
		time.Sleep(patience) // as long as the agent's queue waits before it kills the process
		os.Exit(cli.ExitInterrupted)
	})
	return ctx
}
