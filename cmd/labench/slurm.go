package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/internal/topo"
)

// slurmJob is the job of Slurm in which this process runs.
type slurmJob struct {
	id    int
	nodes []string // of all its parts
	node  string   // this one
}

// readSlurmJob reads what Slurm says in the environment of a job. The error says what it does
// not.
func readSlurmJob(env func(string) string) (j slurmJob, err error) {
	if j.id, err = strconv.Atoi(env("SLURM_JOB_ID")); err != nil || j.id < 1 {
		return j, errors.New("this is no job of Slurm: SLURM_JOB_ID is not set; see sbatch, salloc and srun")
	}
	lists := []string{env("SLURM_JOB_NODELIST")}
	if parts, err := strconv.Atoi(env("SLURM_HET_SIZE")); err == nil && parts > 0 && parts < 1000 {
		lists = nil
		for i := range parts {
			lists = append(lists, env(fmt.Sprintf("SLURM_JOB_NODELIST_HET_GROUP_%d", i)))
		}
	}
	for _, list := range lists {
		nodes, err := hostlist(list)
		if err != nil {
			return j, err
		}
		for _, n := range nodes {
			if !slices.Contains(j.nodes, n) {
				j.nodes = append(j.nodes, n)
			}
		}
	}
	if len(j.nodes) == 0 {
		return j, errors.New("Slurm does not say which nodes the job has: SLURM_JOB_NODELIST is not set")
	}
	j.node = env("SLURMD_NODENAME")
	return j, nil
}

// hostsMost is the most nodes that a list may name.
const hostsMost = 100_000

// hostlist returns the names of nodes in a list of Slurm's, as in rack[0-1]n[08-10,12],login.
func hostlist(list string) (all []string, err error) {
	bad := func() ([]string, error) { return nil, fmt.Errorf("%.100q is no list of nodes", list) }
	names := []string{""} // that the item so far stands for
	for rest := list; ; {
		i := strings.IndexAny(rest, ",[")
		if i < 0 {
			i = len(rest)
		}
		if strings.ContainsRune(rest[:i], ']') {
			return bad()
		}
		for k := range names {
			names[k] += rest[:i]
		}
		if i == len(rest) || rest[i] == ',' {
			if slices.Contains(names, "") && list != "" {
				return bad()
			}
			if all = append(all, names...); len(all) > hostsMost {
				return bad()
			}
			if i == len(rest) {
				break
			}
			names, rest = []string{""}, rest[i+1:]
			continue
		}
		ranges, after, ok := strings.Cut(rest[i+1:], "]")
		if !ok {
			return bad()
		}
		var longer []string
		for _, r := range strings.Split(ranges, ",") {
			numbers, ok := numbersOf(r)
			if !ok || len(names)*len(numbers) > hostsMost {
				return bad()
			}
			for _, n := range names {
				for _, x := range numbers {
					longer = append(longer, n+x)
				}
			}
			if len(longer) > hostsMost {
				return bad()
			}
		}
		names, rest = longer, after
	}
	if list == "" {
		return nil, nil
	}
	return all, nil
}

// numbersOf returns the numbers of a range, as in 08-10, with their leading zeros.
func numbersOf(r string) (all []string, ok bool) {
	first, last, isRange := strings.Cut(r, "-")
	if !isRange {
		last = first
	}
	lo, bad := strconv.ParseUint(first, 10, 31)
	hi, worse := strconv.ParseUint(last, 10, 31)
	if bad != nil || worse != nil || hi < lo || hi-lo >= hostsMost {
		return nil, false
	}
	for n := lo; n <= hi; n++ {
		all = append(all, fmt.Sprintf("%0*d", len(first), n))
	}
	return all, true
}

// port is where the agents of a job listen: below the ports that systems give out by
// themselves, and most likely not that of another job on the same node.
func (j slurmJob) port() string { return strconv.Itoa(20_000 + j.id%10_000) }

// peers returns the addresses of the job's nodes. A job of one node needs no network.
func (j slurmJob) peers() (all []string) {
	if len(j.nodes) == 1 {
		return []string{net.JoinHostPort("127.0.0.1", j.port())}
	}
	for _, n := range j.nodes {
		all = append(all, net.JoinHostPort(n, j.port()))
	}
	return all
}

// listen returns where an agent on this node listens: on the address by which it reaches the
// other ones.
func (j slurmJob) listen() string {
	host := "127.0.0.1"
	if i := slices.IndexFunc(j.nodes, func(n string) bool { return n != j.node }); i >= 0 {
		host, _, _ = net.SplitHostPort(outward(net.JoinHostPort(j.nodes[i], j.port())))
	}
	return net.JoinHostPort(host, j.port())
}

// certificate returns which directory under one that all nodes see has the certificate of a
// node: the one that is called so, if there is one.
func certificate(dir, name string) string {
	if dir == "" {
		return ""
	}
	if own := filepath.Join(dir, name); isDirectory(own) {
		return own
	}
	return dir
}

func isDirectory(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}

// slurmPeers is what --peers and --cluster call the nodes of the job.
const slurmPeers = "slurm"

// inJob has an agent take part in the job of Slurm in which it runs, if --peers says so: it
// finds the others by the job's list of nodes, and computes with the CPUs that the job gives
// it.
func (f *nodeFlags) inJob(given func(flag string) bool) error {
	if !slices.Contains(f.peers, slurmPeers) {
		return nil
	}
	if len(f.peers) > 1 {
		return fmt.Errorf("--peers %s is all nodes of the job: name no others", slurmPeers)
	}
	j, err := readSlurmJob(os.Getenv)
	if err != nil {
		return fmt.Errorf("--peers %s: %w", slurmPeers, err)
	}
	if id := os.Getenv("SLURM_LOCALID"); id != "" && id != "0" {
		return fmt.Errorf("--peers %s: a node has one agent, with all its cores: srun --ntasks-per-node=1", slurmPeers)
	}
	if !given("listen") {
		f.listen = j.listen()
	}
	if f.name == "" {
		f.name = j.node
	}
	f.certs, f.peers = certificate(f.certs, j.node), j.peers()
	m := topo.Detect()
	return confine(share([]place{here(j.node, m, os.Getenv)}, 0, m.Cores))
}
