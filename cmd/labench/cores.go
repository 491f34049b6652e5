package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/internal/topo"
)

// place is where a rank runs: what each rank tells the others of itself.
type place struct {
	host string
	// allowed are the CPUs that it was started on, and grantable those that the system would
	// let it have.
	allowed, grantable topo.CPUSet
	cores              int // of the allowed CPUs
	// own is how many CPUs the batch system gives it, and joint how many all ranks of its
	// machine together have; 0 is not known. Nobody need keep them to that but they.
	own, joint int
}

// here returns where this process runs. Slurm's variables are those of its tasks.
func here(host string, m *topo.Machine, env func(string) string) place {
	number := func(name string) int {
		n, err := strconv.Atoi(env(name))
		if err != nil || n < 1 || env("SLURM_JOB_ID") == "" {
			return 0
		}
		return n
	}
	p := place{host: host, allowed: m.Allowed, cores: len(m.Cores), own: number("SLURM_CPUS_PER_TASK"), joint: number("SLURM_CPUS_ON_NODE")}
	if quota := int(math.Ceil(m.CPUQuota)); quota > 0 && (p.joint == 0 || quota < p.joint) {
		p.joint = quota
	}
	var err error
	if p.grantable, err = topo.Grantable(m.Online...); err != nil {
		p.grantable = p.allowed
	}
	return p
}

// text returns p for others; parsePlace reads it.
func (p place) text() string {
	return fmt.Sprintf("%s\n%v\n%v\n%d\n%d\n%d", p.host, p.allowed, p.grantable, p.cores, p.own, p.joint)
}

func parsePlace(text string) (p place, err error) {
	f := strings.Split(text, "\n")
	if len(f) != 6 {
		return p, fmt.Errorf("%q is not where a rank runs", text)
	}
	p.host = f[0]
	if p.allowed, err = topo.ParseCPUSet(f[1]); err == nil {
		p.grantable, err = topo.ParseCPUSet(f[2])
	}
	for i, n := range [...]*int{&p.cores, &p.own, &p.joint} {
		if err == nil {
			*n, err = strconv.Atoi(f[3+i])
		}
	}
	return p, err
}

// share returns the CPUs of a rank: ranks that were started on the same CPUs of a machine
// share them out by cores, each some that lie together. Cores are those of the rank's CPUs.
// With fewer cores than ranks some have the same.
func share(all []place, rank int, cores []topo.Core) (cpus topo.CPUSet) {
	p := all[rank]
	index, of, near := 0, 0, 0
	for i, q := range all {
		if q.host != p.host {
			continue
		}
		near++
		if q.allowed.String() == p.allowed.String() {
			if i < rank {
				index++
			}
			of++
		}
	}
	most := p.own
	if most == 0 && p.joint > 0 {
		most = max(p.joint/near, 1)
	}
	n := len(cores)
	lo, hi := index*n/of, (index+1)*n/of
	if lo == hi {
		lo, hi = index%n, index%n+1
	}
	for i, c := range cores[lo:hi] {
		if most > 0 && i > 0 && len(cpus)+len(c.CPUs) > most {
			break
		}
		cpus = append(cpus, c.CPUs...)
	}
	return cpus
}

// confine has this process run on some CPUs only.
func confine(cpus topo.CPUSet) error {
	if err := topo.Confine(cpus...); err != nil {
		return err
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(len(cpus)) // what Go would have taken, had it begun on them
	}
	leaveRoom(len(cpus))
	return nil
}

// leaveRoom has Go run what comes from other nodes while so many workers compute: on its thread,
// between which and theirs the system shares out the cores.
func leaveRoom(workers int) {
	procs := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" || procs >= workers+2 {
		return
	}
	// One more, or else what comes waits for the end of a task and for Go's monitor, which looks
	// every 10 ms; and another one, which rests: when none does, the monitor looks for one every
	// 20 µs.
	runtime.GOMAXPROCS(min(procs, workers) + 2)
}

// boundToOne says, of a machine on which each rank was bound to one core while others are free,
// what that is and what helps; empty if there is none. The variables are those of a rank.
func boundToOne(all []place, env func(string) string) string {
	hosts := map[string][]place{}
	for _, p := range all {
		hosts[p.host] = append(hosts[p.host], p)
	}
	for _, p := range all {
		ranks := hosts[p.host]
		one, have, own := true, map[int]bool{}, 0
		for _, q := range ranks {
			one = one && q.cores == 1
			own += q.own
			for _, cpu := range q.allowed {
				have[cpu] = true
			}
		}
		free := len(p.grantable)
		if most := cmp.Or(own, p.joint); most > 0 {
			free = min(free, most)
		}
		if !one || 2*len(have) > free {
			continue
		}
		each := free / len(ranks)
		remedy := fmt.Sprintf("bind no ranks, or each to %d CPUs", each)
		switch {
		case env("OMPI_COMM_WORLD_RANK") != "":
			remedy = fmt.Sprintf("mpirun --bind-to none, or --map-by slot:PE=%d", each)
		case env("PMI_RANK") != "" && env("SLURM_STEP_ID") == "":
			remedy = "mpirun -bind-to none"
		case env("SLURM_STEP_ID") != "":
			remedy = fmt.Sprintf("srun --cpus-per-task=%d, or --cpu-bind=none", each)
		}
		return fmt.Sprintf("each rank on %s is bound to one core, and %d CPUs could be had: %s", p.host, free, remedy)
	}
	return ""
}
