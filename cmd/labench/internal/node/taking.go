package node

import (
	"context"
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

// An agent that takes jobs has three parts, which end in the order of their numbers:
//
//	1  the queue's loop    one job at a time, each a process of this program (jobWords)
//	2  the server          answers the commands of jobs.go, from memory
//	3  the spool           a directory with all that is known of jobs, which outlives the agent

// takingFlags is how an agent takes jobs, as a command line says it.
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

// spoolPatience is how long an agent waits for the spool: the job of one that was killed has ended
// after patience.
const spoolPatience = patience + 5*time.Second

// check returns what is wrong with the flags of an agent with certificates in a directory.
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

// take takes jobs until ctx ends, if the flags say so. Each runs as a process that drives the
// agents that this one, a node on the address at, knows. End waits until the last one has ended. If
// nobody can submit any more, fail is told why, and end returns it.
func (f *takingFlags) take(ctx context.Context, a *cli.App, n *Flags, at string, check func(*jobs.Spec) error, log *slog.Logger, fail context.CancelCauseFunc) (end func() error, err error) {
	if f.listen == "" { // most agents take no jobs
		return func() error { return nil }, nil
	}
	config, err := trusted(f.listen, n.certs)
	if err != nil {
		return nil, err
	}
	// Jobs are processes of this program: one that runs out of memory, or crashes, takes neither the
	// agent nor other jobs with it.
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, err
	}
	// The address comes first, because it is refused at once if it is taken. The spool may have to be
	// waited for. Nobody is answered meanwhile: connections wait, too.
	waiting, enough := context.WithTimeout(ctx, spoolPatience)
	defer enough()
	q, err := jobs.Open(waiting, jobs.Options{Dir: f.spool, Most: int64(f.most), Check: check, Log: log, Command: func(j *jobs.Job, dir string) *exec.Cmd {
		return exec.Command(self, JobWords(j, dir, n, at)...)
	}})
	if err != nil {
		l.Close()
		return nil, err
	}
	fmt.Fprintf(a.Out, "agent %s takes jobs on %s\n", n.Name, l.Addr())
	if config != nil {
		config, _ = web.Secure(config)
	}
	server := jobs.NewServer(q, config, log)
	ctx, stop := context.WithCancel(ctx) // the agent may also end by an error
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	var broken error
	running.Go(func() {
		if broken = server.Serve(l); broken != nil {
			log.Error("this agent takes no jobs any more", "error", broken)
			fail(broken)
		}
	})
	// In this order: no job begins any more, nobody submits one, the job that runs has ended, and
	// the spool is given up last.
	return func() error {
		stop()
		err := server.Close()
		l.Close() // Close does not, if Serve has yet to begin
		running.Wait()
		return errors.Join(broken, err, q.Close())
	}, nil
}

// JobWords returns the command line of a job. What the agent decides comes last, so that it holds.
func JobWords(j *jobs.Job, dir string, n *Flags, at string) []string {
	// What who submits may decide comes first. It drives and does not compute (--idle): the cores
	// beside it are the agent's.
	words := append([]string{j.Args[0], "--repeat", "1", "--warmup", "0"}, j.Args[1:]...)
	words = append(words, "--cluster", at, "--idle", "--json", "--workers", "1",
		"--name", n.Name, "--job", strconv.Itoa(j.ID), "--node-timeout", n.Timeout.String())
	// It joins the cluster with the agent's certificate, whichever client submitted it.
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

// untilInputEnds returns a context that ends with standard input, too: with the program that has started this
// process, however that one ends.
func untilInputEnds(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}

// UntilAgentEnds is untilInputEnds for a job. What does not end by then is ended: there may be
// nobody any more who would kill it.
func UntilAgentEnds(ctx context.Context) context.Context {
	ctx = untilInputEnds(ctx)
	context.AfterFunc(ctx, func() {
		time.Sleep(patience) // as the agent's queue waits, before it kills
		os.Exit(cli.ExitInterrupted)
	})
	return ctx
}
