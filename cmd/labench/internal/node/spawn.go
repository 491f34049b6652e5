package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/topo"
)

// spawned are the agents that this process has started on its machine.
type spawned struct {
	agents []*agentProcess
}

// agentProcess is a child process, labench agent --attached.
type agentProcess struct {
	*exec.Cmd
	stdin io.Closer      // closing it ends the agent
	said  sync.WaitGroup // for the goroutine that reads its output
}

// patience is how long an agent may take to start, and to end.
const patience = 20 * time.Second

// spawn starts n agents that share the given number of cores, or all cores of the machine if workers is 0, and compute
// with what each says. It returns their addresses. stop ends them and waits for their end. They also end by themselves
// when this process ends, even by a crash.
//
// Each agent runs on cores of its own if there are enough. A thread that receives messages then does not take
// the core of another agent's worker. QR of order 8192 on two agents: 68.3 GFLOP/s without places, 78.3 with
// them (2 cores, EPYC, Zen 4, 2026-11-24).
func spawn(ctx context.Context, a *cli.App, n, workers int, timeout time.Duration, each *setup.LocalFlags) (s *spawned, addresses []string, err error) {
	machine := topo.Detect()
	if workers == 0 {
		workers = machine.Workers()
	}
	s = &spawned{}
	places := machine.SpreadUnits(n, max(1, (workers+n-1)/n))
	for i, share := range shares(workers, n) {
		args := []string{"agent", "--attached", "--listen", "127.0.0.1:0", "--name", fmt.Sprintf("agent%d", i), "--workers", strconv.Itoa(share), "--node-timeout", timeout.String()}
		if most := agentMemory(n); most > 0 {
			args = append(args, "--memory", strconv.FormatInt(most, 10))
		}
		if i > 0 {
			args = append(args, "--peers", addresses[0])
		}
		args = append(args, own(each, i)...)
		address, err := s.start(ctx, a.Asides(), places[i], args)
		if err != nil {
			s.stop()
			return nil, nil, fmt.Errorf("--cluster local:%d: agent%d has not started: %w", n, i, err)
		}
		addresses = append(addresses, address)
	}
	return s, addresses, nil
}

// own returns the flags of agent i. Each agent has a profile of its own: profile.json becomes profile.agent0.json.
func own(each *setup.LocalFlags, i int) (args []string) {
	if each.Versions != "" {
		args = append(args, "--versions", each.Versions)
	}
	if each.Devices != "" && each.Devices != "none" {
		args = append(args, "--devices", each.Devices)
	}
	switch p := each.Profile; p {
	case "": // the agent's default has its name
	case "none":
		args = append(args, "--profile", p)
	default:
		args = append(args, "--profile", setup.ProfileFor(fmt.Sprint("agent", i), p))
	}
	return args
}

// shares divides workers among n agents. Each gets at least one.
func shares(workers, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = max((workers+n-1-i)/n, 1)
	}
	return all
}

// listens matches the line that an agent prints when others can reach it.
var listens = regexp.MustCompile(` listens on (\S+),`)

// start starts an agent on the given CPUs, or on any if a process cannot be bound, and returns its address.
func (s *spawned) start(ctx context.Context, errs io.Writer, cpus topo.CPUSet, args []string) (address string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := &agentProcess{Cmd: exec.Command(self, args...)}
	c.Stderr = errs
	stdin, err := c.StdinPipe()
	if err != nil {
		return "", err
	}
	c.stdin = stdin
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	release, _ := topo.Lock(cpus...) // a process inherits the binding of the thread that starts it
	err = c.Start()
	release()
	if err != nil {
		return "", err
	}
	s.agents = append(s.agents, c)
	begun := make(chan string, 1)
	c.said.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				begun <- m[1]
			}
		}
		close(begun)
	})
	select {
	case address, ok := <-begun:
		if !ok {
			return "", errors.New("it ended")
		}
		return address, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(patience):
		return "", fmt.Errorf("it says nothing for %v", patience)
	}
}

// stop ends the agents and waits for their end.
func (s *spawned) stop() {
	if s == nil {
		return
	}
	for _, c := range s.agents {
		_ = c.stdin.Close()
	}
	for _, c := range s.agents {
		slow := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		c.said.Wait()
		_ = c.Wait()
		slow.Stop()
	}
}

// agentMemory returns the limit for the operands of each of several agents on this machine, in bytes. Together
// they get three quarters of the memory. The rest is for packed operands, messages and the system. 0 means
// unknown.
func agentMemory(agents int) int64 { return topo.Detect().UsableMemory() / 4 * 3 / int64(agents) }
