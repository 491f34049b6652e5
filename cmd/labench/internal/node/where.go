package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/tomltext"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// clusterWords lists the values of --cluster.
const clusterWords = "local:N, mpi, slurm, a TOML file, or HOST:PORT[,HOST:PORT…]"

// localMost is the largest N of --cluster local:N. More agents are most likely a mistake.
const localMost = 256

// located says where the nodes of a cluster are. One field is set.
type located struct {
	local     int      // number of agents to start on this machine
	ranks     bool     // processes that an MPI launcher started
	job       bool     // agents on the nodes of this Slurm job
	file      string   // nodes that this file lists
	addresses []string // addresses of agents
}

// locate interprets the words of --cluster.
func locate(words []string) (at located, err error) {
	bad := func(w, problem string) (located, error) {
		return located{}, fmt.Errorf("--cluster: %q %s; want %s", w, problem, clusterWords)
	}
	for _, w := range words {
		count, isLocal := strings.CutPrefix(w, "local:")
		_, port, notAddress := net.SplitHostPort(w)
		_, notPort := strconv.ParseUint(port, 10, 16)
		switch {
		case isLocal || w == "local":
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 || n > localMost {
				return bad(w, fmt.Sprintf("does not say how many agents, from 1 to %d", localMost))
			}
			at.local = n
		case w == "mpi":
			at.ranks = true
		case w == slurmPeers:
			at.job = true
		case notAddress == nil && notPort == nil && port != "0":
			at.addresses = append(at.addresses, w)
		case notAddress == nil && filepath.Ext(w) != ".toml":
			return bad(w, "has no port from 1 to 65535")
		default:
			if s, err := os.Stat(w); err != nil || s.IsDir() {
				return bad(w, "is neither a file that is there nor host:port")
			}
			at.file = w
		}
	}
	if (at.local > 0 || at.ranks || at.job || at.file != "") && len(words) > 1 {
		return bad(strings.Join(words, ","), "has more than one word")
	}
	return at, nil
}

// nodesFile is a file that lists the nodes of a cluster:
//
//	certs = "certs/laptop"   # as --certs; from the file's directory
//	timeout = "5s"           # as --node-timeout
//	idle = true              # as --idle; likewise distributed and agents
//	link = "1GiB"            # for labench plan: bytes per second that each node can receive
//
//	[[node]]
//	address = "10.0.0.1:7400"
//	name = "node1"           # the agent there must have this name
//	speed = 1.5              # relative to other nodes; default: its number of workers
//	workers = 8              # for labench plan, like the settings below
//	memory = "16GiB"         # its limit for operands
//	gflops = 400             # of all its workers
//	parent = "node0"         # its parent in a tree of nodes: see labench agent --parent
type nodesFile struct {
	Certs, Name, Listen, Address string
	Timeout                      time.Duration
	Agents                       int
	Idle, Distributed            bool
	Link                         cli.Size
	Node                         []Member
}

// Member is a node in a nodes file.
type Member struct {
	Address, Name string
	Speed         float64
	Workers       int
	Memory        cli.Size
	GFLOPS        float64
	Parent        string
}

// readNodes reads a nodes file. The error names the line that is wrong.
func readNodes(path string) (*nodesFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseNodes(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Certs != "" && !filepath.IsAbs(f.Certs) {
		f.Certs = filepath.Join(filepath.Dir(path), f.Certs)
	}
	return f, nil
}

// parseNodes parses the text of a nodes file.
func parseNodes(text string) (*nodesFile, error) {
	var f nodesFile
	if err := tomltext.Decode(text, &f); err != nil {
		return nil, err
	}
	if len(f.Node) == 0 {
		return nil, errors.New("it lists no [[node]]")
	}
	if f.Timeout < 0 || f.Agents < 0 {
		return nil, fmt.Errorf("timeout is %v and agents %d: they cannot be negative", f.Timeout, f.Agents)
	}
	seen := map[string]int{}
	speeds := 0
	for i, n := range f.Node {
		what := fmt.Sprintf("[[node]] %d", i+1)
		_, port, err := net.SplitHostPort(n.Address)
		_, notPort := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil || notPort != nil:
			return nil, fmt.Errorf("%s: address is %q, want host:port", what, n.Address)
		case !(n.Speed >= 0 && n.Speed <= 1e9 && n.GFLOPS >= 0 && n.GFLOPS <= 1e9) || n.Workers < 0 || n.Workers > 1<<14:
			return nil, fmt.Errorf("%s: speed is %v, gflops %v and workers %d: want more than 0", what, n.Speed, n.GFLOPS, n.Workers)
		}
		for _, key := range []string{n.Address, n.Name} {
			if first := seen[key]; key != "" && first > 0 {
				return nil, fmt.Errorf("%s is %q, as is [[node]] %d", what, key, first)
			}
			seen[key] = i + 1
		}
		if n.Speed > 0 {
			if n.Name == "" {
				return nil, fmt.Errorf("%s: a speed needs the node's name", what)
			}
			speeds++
		}
	}
	if speeds > 0 && speeds < len(f.Node) {
		return nil, fmt.Errorf("%d of %d nodes have a speed: give all of them, or none", speeds, len(f.Node))
	}
	return &f, f.checkTree()
}

// checkTree returns what is wrong with the tree of nodes.
func (f *nodesFile) checkTree() error {
	parent := map[string]string{}
	for _, n := range f.Node {
		parent[n.Name] = n.Parent
	}
	for i, n := range f.Node {
		what := fmt.Sprintf("[[node]] %d", i+1)
		if _, known := parent[n.Parent]; n.Parent != "" && (!known || n.Name == "") {
			return fmt.Errorf("%s: parent is %q, and needs to be the name of another [[node]], as this one needs a name", what, n.Parent)
		}
		above := n.Parent
		for range f.Node { // this many steps lead to the top, or around a cycle
			above = parent[above]
		}
		if above != "" {
			return fmt.Errorf("%s: %s is below itself", what, n.Name)
		}
	}
	return nil
}

// top returns the nodes that have no parent: the driver connects to these.
func (f *nodesFile) top() (all []Member) {
	for _, n := range f.Node {
		if n.Parent == "" {
			all = append(all, n)
		}
	}
	return all
}

// missing returns the names of nodes to which a driver should be connected, but is not.
func (f *nodesFile) missing(there []string) (names []string) {
	for _, n := range f.top() {
		if n.Name != "" && !slices.Contains(there, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// speeds returns the speeds of nodes by name. It returns nil if the file has none.
func (f *nodesFile) speeds() map[string]float64 {
	if f == nil || f.Node[0].Speed == 0 {
		return nil
	}
	all := map[string]float64{}
	for _, n := range f.Node {
		all[n.Name] = n.Speed
	}
	return all
}

// has returns an error if an agent is not in the file: no node has its name, and no unnamed node has one of its
// addresses. A file without names admits all agents.
func (f *nodesFile) has(name string, addresses ...string) error {
	var known []string
	for _, n := range f.Node {
		switch {
		case n.Name == "" && slices.Contains(addresses, n.Address), n.Name != "" && n.Name == name:
			return nil
		case n.Name != "":
			known = append(known, n.Name)
		}
	}
	switch {
	case known == nil:
		return nil
	case name == "":
		return fmt.Errorf("its nodes have names: which one is this? --name says so; known: %s", strings.Join(known, ", "))
	}
	return &cli.UnknownError{What: "node", Word: name, Known: known}
}

// inFile applies a nodes file to an agent, if --peers names one: the agent finds the others by it, and its own
// settings under its name.
func (f *Flags) inFile(parent *string, given func(flag string) bool) error {
	at := slices.IndexFunc(f.Peers, func(p string) bool { return filepath.Ext(p) == ".toml" })
	if at < 0 {
		return nil
	}
	if len(f.Peers) > 1 {
		return fmt.Errorf("--peers %s is all nodes: name no others", f.Peers[at])
	}
	file, err := readNodes(f.Peers[at])
	if err != nil {
		return err
	}
	name := f.Name
	if f.certs != "" && name == "" {
		if _, name, err = certs.Read(f.certs); err != nil {
			return err
		}
	}
	if err := file.has(name, f.listen, f.address); err != nil {
		return fmt.Errorf("--peers %s: %w", f.Peers[at], err)
	}
	take(&f.Timeout, file.Timeout, given("node-timeout"))
	f.Peers = nil
	for _, n := range file.Node {
		if n.Name != "" && n.Name == name {
			take(parent, n.Parent, given("parent"))
			take(&f.listen, n.Address, given("listen"))
			continue
		}
		f.Peers = append(f.Peers, n.Address)
	}
	return nil
}
