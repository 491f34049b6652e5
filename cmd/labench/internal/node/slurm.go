package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

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
func (f *Flags) inJob(given func(flag string) bool) error {
	if !slices.Contains(f.Peers, slurmPeers) {
		return nil
	}
	if len(f.Peers) > 1 {
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
	if f.Name == "" {
		f.Name = j.node
	}
	f.certs, f.Peers = certificate(f.certs, j.node), j.peers()
	m := topo.Detect()
	return confine(share([]place{here(j.node, m, os.Getenv)}, 0, m.Cores))
}
