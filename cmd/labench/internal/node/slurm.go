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

// slurmJob is the Slurm job in which this process runs.
type slurmJob struct {
	id    int
	nodes []string // of all components of the job
	node  string   // the node of this process
}

// readSlurmJob reads the environment that Slurm sets for a job. The error says which variable is missing.
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

// port is the port of the agents of a job. It is below the ports that systems assign themselves, and most
// likely differs from that of another job on the same node.
func (j slurmJob) port() string { return strconv.Itoa(20_000 + j.id%10_000) }

// peers returns the addresses of the job's agents. If the job has a single node it is a loopback address.
func (j slurmJob) peers() (all []string) {
	if len(j.nodes) == 1 {
		return []string{net.JoinHostPort("127.0.0.1", j.port())}
	}
	for _, n := range j.nodes {
		all = append(all, net.JoinHostPort(n, j.port()))
	}
	return all
}

// listen returns the address on which an agent on this node listens: the one by which it reaches the other
// nodes.
func (j slurmJob) listen() string {
	host := "127.0.0.1"
	if i := slices.IndexFunc(j.nodes, func(n string) bool { return n != j.node }); i >= 0 {
		host, _, _ = net.SplitHostPort(outward(net.JoinHostPort(j.nodes[i], j.port())))
	}
	return net.JoinHostPort(host, j.port())
}

// certificate returns the directory with the certificate of the named node: the subdirectory of dir with that
// name, if it exists, or else dir. All nodes may see dir.
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

// slurmPeers is the value of --peers and --cluster for the nodes of the Slurm job.
const slurmPeers = "slurm"

// inJob makes an agent part of the Slurm job in which it runs, if --peers asks for that. It finds the others by
// the job's list of nodes, and computes with the CPUs of the job.
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
