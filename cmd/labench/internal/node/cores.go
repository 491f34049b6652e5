package node

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/internal/topo"
)

// place is where a rank runs. Each rank sends its place to the others.
type place struct {
	host string
	// allowed are the CPUs on which the rank was started. grantable are those to which the system would let it
	// extend.
	allowed, grantable topo.CPUSet
	cores              int // number of allowed cores
	// own is the rank's number of CPUs according to the batch system, joint that of all ranks of its machine
	// together, and near the number of ranks that the launcher started on the machine. 0 means unknown. Only the
	// ranks themselves enforce these numbers.
	own, joint, near int
}

// here returns the place of this process.
func here(host string, m *topo.Machine, env func(string) string) place {
	p := place{host: host, allowed: m.Allowed, cores: len(m.Cores)}
	p.own, p.joint, p.near = granted(env)
	p.joint = smallest(p.joint, int(math.Ceil(m.CPUQuota)))
	var err error
	if p.grantable, err = topo.Grantable(m.Online...); err != nil {
		p.grantable = p.allowed
	}
	return p
}

// granted returns what the variables of Slurm and of MPI launchers say of a process: the number of its CPUs,
// the number of CPUs of all tasks on its machine together, and the number of these tasks. 0 means unknown.
//
// No variable is right by itself. SLURM_CPUS_PER_TASK is sbatch's value if srun ignored it, as since Slurm
// 22.05; SLURM_CPUS_ON_NODE is the step's value, or the job's if the step has none.
func granted(env func(string) string) (own, joint, near int) {
	number := func(names ...string) int {
		for _, name := range names {
			if n, err := strconv.Atoi(env(name)); err == nil && n > 0 {
				return n
			}
		}
		return 0
	}
	near = number("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE")
	if number("SLURM_JOB_ID") == 0 {
		return 0, 0, near
	}
	joint = number("SLURM_CPUS_ON_NODE")
	if nodes, err := hostlist(env("SLURM_JOB_NODELIST")); err == nil && env("SLURMD_NODENAME") != "" {
		if i := slices.Index(nodes, env("SLURMD_NODENAME")); i >= 0 {
			joint = smallest(joint, onNode(env("SLURM_JOB_CPUS_PER_NODE"), i))
		}
	}
	// In the batch script these variables describe the job, whose tasks may not have started.
	if id, err := strconv.Atoi(env("SLURM_NODEID")); near == 0 && err == nil && env("SLURM_STEP_ID") != "" {
		near = onNode(cmp.Or(env("SLURM_STEP_TASKS_PER_NODE"), env("SLURM_TASKS_PER_NODE")), id)
	}
	return number("SLURM_CPUS_PER_TASK"), joint, near
}

// onNode returns the number of a node, counted from 0, in a list of Slurm with one number per node, such as
// 2(x3),1. It returns 0 if the list is too short.
func onNode(list string, node int) int {
	for item := range strings.SplitSeq(list, ",") {
		number, rest, repeated := strings.Cut(item, "(x")
		times := 1
		if repeated {
			var err error
			end, ok := strings.CutSuffix(rest, ")")
			if times, err = strconv.Atoi(end); err != nil || !ok || times < 1 {
				return 0
			}
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || node < 0 {
			return 0
		}
		if node < times {
			return n
		}
		node -= times
	}
	return 0
}

// smallest returns the smallest number that is not 0, since 0 means unknown. It returns 0 if all are 0.
func smallest(all ...int) (least int) {
	for _, n := range all {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// text encodes p for other ranks; parsePlace decodes it.
func (p place) text() string {
	return fmt.Sprintf("%s\n%v\n%v\n%d\n%d\n%d\n%d", p.host, p.allowed, p.grantable, p.cores, p.own, p.joint, p.near)
}

func parsePlace(text string) (p place, err error) {
	f := strings.Split(text, "\n")
	if len(f) != 7 {
		return p, fmt.Errorf("%q is not where a rank runs", text)
	}
	p.host = f[0]
	if p.allowed, err = topo.ParseCPUSet(f[1]); err == nil {
		p.grantable, err = topo.ParseCPUSet(f[2])
	}
	for i, n := range [...]*int{&p.cores, &p.own, &p.joint, &p.near} {
		if err == nil {
			*n, err = strconv.Atoi(f[3+i])
		}
	}
	return p, err
}

// share returns the CPUs of a rank. Ranks that were started on the same CPUs of a machine divide them by cores,
// and each gets adjacent ones. cores are the cores of the rank's CPUs. If there are fewer cores than ranks,
// some ranks share cores. No rank takes more than the smallest number that its launcher, its batch system or
// its cgroup gives it.
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
	// Each of these numbers may be larger than what the rank has; none is smaller.
	most := p.own
	if p.joint > 0 {
		most = smallest(most, max(p.joint/max(near, p.near), 1))
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

// confine restricts this process to the given CPUs.
func confine(cpus topo.CPUSet) error {
	if err := topo.Confine(cpus...); err != nil {
		return err
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(len(cpus)) // Go's default if it had started on these CPUs
	}
	leaveRoom(len(cpus))
	return nil
}

// leaveRoom lets Go handle messages of other nodes while all workers compute. It raises GOMAXPROCS, and the
// system divides the cores between Go's threads and the workers' threads.
func leaveRoom(workers int) {
	procs := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" || procs >= workers+2 {
		return
	}
	// One more for messages. Otherwise a message would wait for the end of a task, or for Go's monitor, which
	// looks every 10 ms. And a second one that stays idle: without an idle one the monitor looks for one every
	// 20 µs.
	runtime.GOMAXPROCS(min(procs, workers) + 2)
}

// boundToOne describes the case that each rank of a machine is bound to one core while other cores are free,
// and the remedy. It returns "" in other cases. env returns the variables of a rank.
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
		if most := smallest(own, p.joint); most > 0 {
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
