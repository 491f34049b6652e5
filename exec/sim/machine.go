package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/versions"
)

// Machine describes the machine that a program runs on. Times are in seconds, rates in units a
// second. Package exec/sim/machinefile reads and writes it as a file.
type Machine struct {
	Name   string `toml:"name"`
	Source string `toml:"source"` // origin of the figures
	Kinds  []Kind `toml:"kind"`
	// Nodes are groups of equal nodes, in order: the first is the driver's, or the one machine.
	Nodes []Nodes `toml:"nodes"`
	// Apart says that the driver of several nodes executes only tasks that no other node can.
	Apart   bool    `toml:"apart,omitempty"`
	Network Network `toml:"network"`
	Costs   Costs   `toml:"costs"`
	Noise   Noise   `toml:"noise"`
	// Failures are losses of nodes, in the order of At.
	Failures []Failure `toml:"failure,omitempty"`
}

// Failure is the loss of a node, which may come back as a new, empty one.
type Failure struct {
	Node int     `toml:"node"`           // its number; 0 is the driver, which must not be lost
	At   float64 `toml:"at"`             // seconds after the run began
	Back float64 `toml:"back,omitempty"` // seconds after the run began; 0: it does not come back
}

// Nodes is a group of Count nodes of a kind. The tasks of a program go to the nodes of groups
// without Below. A node that has others below it is the driver of the children of its tasks, as an
// agent is (cluster.Options.Parent): it gives them to these nodes and itself. Groups with the same
// Host, and the nodes of each, are processes on one computer and share its cores, those of the
// first such kind.
type Nodes struct {
	Kind  string `toml:"kind"`
	Count int    `toml:"count"`
	Host  string `toml:"host,omitempty"`
	Name  string `toml:"name,omitempty"`
	// Below is the name of an earlier group: each of its nodes has the same number of these nodes.
	Below string `toml:"below,omitempty"`
	// Drives makes nodes handle children as the driver handles tasks, even if no nodes are below
	// them. Other nodes begin their children at once.
	Drives bool `toml:"drives,omitempty"`
}

// Network is what connects nodes.
type Network struct {
	Latency   float64 `toml:"latency"`   // of a message, one way
	Bandwidth float64 `toml:"bandwidth"` // bytes a second into a node, and as many out of it
	// Busy is the longest time that a message waits for a core on a node all of whose cores
	// compute: until one is idle, or the operating system takes it from its task.
	Busy float64 `toml:"busy,omitempty"`
	// Value is the seconds that a node needs to send a value, beside those for its bytes.
	Value float64 `toml:"value,omitempty"`
	// Message is the core seconds of each of the two nodes for a message: of tasks, of ends, or
	// with a value. Messages that a node handles together take the time of one.
	Message float64 `toml:"message,omitempty"`
	// Core is the core seconds of each of the two nodes for a byte of a value.
	Core float64 `toml:"core,omitempty"`
	// Timeout is the seconds of silence after which the driver counts a node as lost; 0: it learns
	// of the loss at once, as if the node's process had ended.
	Timeout float64 `toml:"timeout,omitempty"`
}

// measured reports whether the core time of messages is known.
func (w *Network) measured() bool { return w.Message > 0 || w.Busy > 0 || w.Core > 0 }

// Kind describes the nodes of a kind.
type Kind struct {
	Name    string `toml:"name"`
	Sockets int    `toml:"sockets"`           // 0: one
	Cores   int    `toml:"cores"`             // of a socket
	Workers int    `toml:"workers,omitempty"` // tasks at a time, over all sockets; 0: one for each core
	// Threads is the number of threads of a task, 0: one. More threads than cores of a socket share
	// the cores evenly. A call waits for its slowest thread, whose core has the most other threads:
	// Waits, 0 to 1, is how far its speed goes from an even share towards that thread's share.
	Threads   int      `toml:"threads,omitempty"`
	Waits     float64  `toml:"waits,omitempty"`
	Arch      string   `toml:"arch,omitempty"`      // see versions.Target, as for the next ones
	Processor string   `toml:"processor,omitempty"` //
	Features  []string `toml:"features,omitempty"`
	Memory    int64    `toml:"memory,omitempty"` // bytes of operands that a node keeps at most; 0: no cap
	Ops       []string `toml:"ops,omitempty"`    // nil: all

	// Cache is the bytes of a socket's last cache; 0: operands are always in it.
	Cache int64 `toml:"cache,omitempty"`
	// Bandwidth is the bytes a second that all cores together read from memory; 0: unknown. Tile
	// operations do not need it.
	Bandwidth float64 `toml:"bandwidth,omitempty"`
	// Rate is a worker's units of work a second, for ops without a speed; 0: all ops must have one.
	Rate   float64 `toml:"rate,omitempty"`
	Speeds []Speed `toml:"speed"`
	// Devices are accelerators with memory of their own, beside the cores.
	Devices []Device `toml:"device,omitempty"`
}

// Device describes equal accelerators of a node. Each executes one task at a time, of ops that have
// a version of kind "cuda", and gets operands over a link of its own.
type Device struct {
	Name  string   `toml:"name"`
	Count int      `toml:"count,omitempty"` // 0: one
	Ops   []string `toml:"ops,omitempty"`   // nil: all that have such a version
	// Memory is its capacity for values in bytes; 0: no cap.
	Memory int64   `toml:"memory,omitempty"`
	Rate   float64 `toml:"rate,omitempty"` // as in Kind, like Speeds
	Speeds []Speed `toml:"speed,omitempty"`
	Launch float64 `toml:"launch,omitempty"` // seconds until a task begins
	// Latency and Bandwidth are the link's: seconds of a copy, and bytes a second.
	Latency   float64 `toml:"latency,omitempty"`
	Bandwidth float64 `toml:"bandwidth"`
	// BackLatency and BackBandwidth are the same for copies to the host; both 0: the same as above.
	BackLatency   float64 `toml:"back_latency,omitempty"`
	BackBandwidth float64 `toml:"back_bandwidth,omitempty"`
	// Returns says that nothing stays on the device: a task's inputs are copied there, and its
	// results back, before the next task.
	Returns bool `toml:"returns,omitempty"`
}

// Speed is how long a version of an op takes on a worker.
type Speed struct {
	Op      string  `toml:"op"` // with its type, as in "gemm/f64"
	Version string  `toml:"version,omitempty"`
	Points  []Point `toml:"points"`
}

// Point is a measured time of calls of one size. In a file it is a list: size, work, alone, all
// and, if it is not 0, far.
type Point struct {
	// Size is the largest, over the operands, of the smaller of their rows and columns: the tile
	// size, for whole tiles. 0: no operand is a tile.
	Size int
	Work float64 // by the op's own count, as for linear algebra flops
	// Alone is the seconds while no other worker of the socket has a task, and All while all have
	// one. If tasks have more threads than their share of the cores, Alone is on as many cores as
	// threads, as far as there are, and All on the share.
	Alone, All float64
	// Far is the additional seconds, while all have a task, for a byte of operands that is not in
	// the cache.
	Far float64
}

// MarshalTOML writes a point as a list.
func (p Point) MarshalTOML() ([]byte, error) {
	text := fmt.Sprintf("[%d, %g, %g, %g", p.Size, p.Work, p.Alone, p.All)
	if p.Far != 0 {
		text += fmt.Sprintf(", %g", p.Far)
	}
	// TOML reads a list of mixed numbers as floats.
	return []byte(text + "]"), nil
}

// UnmarshalTOML reads a point from a list.
func (p *Point) UnmarshalTOML(data any) error {
	list, ok := data.([]any)
	if !ok || len(list) < 4 || len(list) > 5 {
		return errors.New("a point is a list: size, work, alone, all and far")
	}
	var x [5]float64
	for i, v := range list {
		switch v := v.(type) {
		case int64:
			x[i] = float64(v)
		case float64:
			x[i] = v
		default:
			return fmt.Errorf("a point has %v, want numbers", v)
		}
	}
	if p.Size = int(x[0]); float64(p.Size) != x[0] {
		return fmt.Errorf("the size of a point is %v, want a whole number", x[0])
	}
	p.Work, p.Alone, p.All, p.Far = x[1], x[2], x[3], x[4]
	return nil
}

// Costs is the overhead beside tasks, in seconds.
type Costs struct {
	Submit float64 `toml:"submit"` // of the program, for each task
	Task   float64 `toml:"task"`   // of a worker, between one task and the next
	Wake   float64 `toml:"wake"`   // until a sleeping worker begins
	// Serial is a thread's seconds for each byte that a task reads, before it computes, and for
	// each that it writes, afterwards: for values kept in another form, as in files.
	Serial float64 `toml:"serial,omitempty"`
	// Files is the bytes a second of all nodes together for these, as of a shared file system; 0:
	// no limit.
	Files float64 `toml:"files,omitempty"`

	// For several nodes. Driver is the driver's time for a submitted task, Give for a task given to
	// a node, Message for an incoming message, End for each end of a task in it. Node is a node's
	// time for a task, beside Task.
	Driver  float64 `toml:"driver,omitempty"`
	Give    float64 `toml:"give,omitempty"`
	Message float64 `toml:"message,omitempty"`
	End     float64 `toml:"end,omitempty"`
	Node    float64 `toml:"node,omitempty"`
}

// Noise is the spread of task times: each is multiplied by exp(Spread·x), x normally distributed.
type Noise struct {
	Spread float64 `toml:"spread"`
	Seed   uint64  `toml:"seed"`
}

// MachineError lists every problem of a Machine.
type MachineError struct{ Problems []string }

func (e *MachineError) Error() string { return "sim: machine: " + strings.Join(e.Problems, "; ") }

// checker notes a problem unless ok.
type checker func(ok bool, format string, args ...any)

// Validate returns a *MachineError with every problem of m, or nil.
func (m *Machine) Validate() error {
	var bad problems.List
	check := bad.Check
	check(len(m.Kinds) > 0, "there is no kind of node")
	for i := range m.Kinds {
		k := &m.Kinds[i]
		check(k.Name != "", "kind %d has no name", i+1)
		check(!slices.ContainsFunc(m.Kinds[:i], func(x Kind) bool { return x.Name == k.Name }), "kind %q is there twice",
			k.Name)
		k.check(check)
	}
	total := m.checkNodes(check)
	c := &m.Costs
	check(sound(c.Submit, c.Task, c.Wake, c.Serial, c.Files, c.Driver, c.Give, c.Message, c.End, c.Node),
		"costs: %+v, want all at least 0", *c)
	if w := &m.Network; total > 1 {
		check(sound(w.Latency, w.Busy, w.Value, w.Message, w.Core, w.Timeout),
			"network: latency is %g, busy %g, value %g, message %g, core %g and timeout %g, want at least 0", w.Latency,
			w.Busy, w.Value, w.Message, w.Core, w.Timeout)
		check(w.Bandwidth > 0 && sound(w.Bandwidth), "network: bandwidth is %g; %d nodes need some, in bytes a second",
			w.Bandwidth, total)
	}
	m.checkFailures(total, check)
	check(m.Noise.Seed <= math.MaxInt64, "noise: seed is %d, want 0 to %d", int64(m.Noise.Seed),
		int64(math.MaxInt64)) // as TOML has it
	check(m.Noise.Spread >= 0 && m.Noise.Spread <= 1, "noise: spread is %g, want 0 to 1", m.Noise.Spread)
	if bad != nil {
		return &MachineError{bad}
	}
	return nil
}

func (k *Kind) check(check checker) {
	name := fmt.Sprintf("kind %q", k.Name)
	check(k.Sockets >= 0 && k.Cores >= 1 && k.Workers >= 0 && max(k.Sockets, k.Cores) <= 1<<14 &&
		k.cores() <= 1<<14 && k.Tasks() <= 1<<14,
		"%s: sockets is %d, cores %d and workers %d, want at least 0, 1 and 0, at most %d in all", name,
		k.Sockets, k.Cores, k.Workers, 1<<14)
	check(k.Threads >= 0 && k.Threads <= 1<<14 && k.Waits >= 0 && k.Waits <= 1,
		"%s: threads is %d and waits %g, want 0 to %d and 0 to 1", name, k.Threads, k.Waits, 1<<14)
	check(k.Memory >= 0 && k.Cache >= 0, "%s: memory is %d and cache %d, want at least 0", name, k.Memory, k.Cache)
	check(sound(k.Rate, k.Bandwidth), "%s: rate is %g and bandwidth %g, want at least 0", name, k.Rate, k.Bandwidth)
	check(k.Rate > 0 || len(k.Speeds) > 0, "%s has neither speeds nor a rate", name)
	for n := range k.Speeds {
		k.Speeds[n].check(name, check)
	}
	const most = 56 // locations are the bits of a word
	devices := 0
	for n := range k.Devices {
		k.Devices[n].check(name, check)
		devices += min(max(k.Devices[n].Count, 1), most+1)
	}
	check(devices <= most, "%s has more than %d devices", name, most)
}

// checkNodes checks the groups of nodes, and returns the number of nodes.
func (m *Machine) checkNodes(check checker) (total int) {
	check(len(m.Nodes) > 0, "there are no nodes")
	workers := 0
	counts := map[string]int{} // of earlier groups, by name
	for i, g := range m.Nodes {
		if n := counts[g.Below]; g.Below != "" {
			check(n > 0 && i > 0, "nodes of kind %q are below %q, which is no group before them", g.Kind, g.Below)
			check(n == 0 || g.Count%n == 0, "%d nodes of kind %q are below %d of %q: want as many below each", g.Count,
				g.Kind, n, g.Below)
		}
		if g.Name != "" {
			check(counts[g.Name] == 0, "two groups of nodes are called %q", g.Name)
			counts[g.Name] = g.Count
		}
		k := m.kind(g.Kind)
		check(k != nil, "nodes of kind %q, and the kinds are %s", g.Kind, m.kinds())
		check(g.Count >= 1 && g.Count <= mostNodes, "%d nodes of kind %q, want 1 to %d", g.Count, g.Kind, mostNodes)
		if total += min(max(g.Count, 0), 2*mostNodes); k != nil {
			workers += min(max(g.Count, 0), 2*mostNodes) * min(k.Tasks(), mostWorkers)
		}
	}
	check(total <= mostNodes && workers <= mostWorkers, "%d nodes with %d workers, want at most %d and %d", total,
		workers, mostNodes, mostWorkers)
	return total
}

// checkFailures checks the failures of a machine with that many nodes.
func (m *Machine) checkFailures(nodes int, check checker) {
	there := map[int]float64{} // since when a node is there
	for i, f := range m.Failures {
		n := i + 1
		check(f.Node != 0, "failure %d: node 0 is the driver, with which everything is lost", n)
		check(f.Node >= 0 && f.Node < max(nodes, 1), "failure %d: there is no node %d; nodes are 0 to %d", n, f.Node,
			nodes-1)
		check(sound(f.At, f.Back) && (f.Back == 0 || f.Back > f.At),
			"failure %d: at is %g and back %g, want at least 0, and back later", n, f.At, f.Back)
		since, again := there[f.Node]
		check(!again || since > 0 && f.At > since, "failure %d: node %d is lost at %g s, and is not there then", n,
			f.Node, f.At)
		there[f.Node] = f.Back
	}
	check(m.Failures == nil || !slices.ContainsFunc(m.Nodes, func(g Nodes) bool {
		k := m.kind(g.Kind)
		return g.Below != "" || g.Drives || k != nil && len(k.Devices) > 0
	}), "failures of machines with devices, or with nodes below others, are not modelled")
}

// Bounds that only a typing error exceeds.
const (
	mostNodes   = 1 << 17
	mostWorkers = 1 << 20
)

// sound reports whether all numbers are finite and at least 0.
func sound(all ...float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return !(x >= 0 && x <= math.MaxFloat64) })
}

func (s *Speed) check(kind string, check checker) {
	name := fmt.Sprintf("%s, %s %s", kind, s.Op, s.Version)
	check(s.Op != "" && len(s.Points) > 0, "%s: a speed has no op, or no points", name)
	for _, p := range s.Points {
		check(p.Size >= 0 && min(p.Work, p.Alone, p.All) > 0 && sound(p.Work, p.Alone, p.All, p.Far),
			"%s: a point of size %d, work %g and %g, %g and %g s, want all more than 0", name, p.Size, p.Work, p.Alone,
			p.All, p.Far)
	}
}

func (d *Device) check(kind string, check checker) {
	name := fmt.Sprintf("%s, device %q", kind, d.Name)
	check(d.Name != "", "%s: a device has no name", kind)
	check(d.Count >= 0 && d.Memory >= 0, "%s: count is %d and memory %d, want at least 0", name, d.Count, d.Memory)
	check(sound(d.Rate, d.Launch, d.Latency, d.BackLatency, d.BackBandwidth),
		"%s: rate is %g, launch %g, latency %g, back_latency %g and back_bandwidth %g, want at least 0", name, d.Rate,
		d.Launch, d.Latency, d.BackLatency, d.BackBandwidth)
	check(d.BackBandwidth > 0 || d.BackLatency == 0, "%s: back_latency is %g, and there is no back_bandwidth", name,
		d.BackLatency)
	check(d.Bandwidth > 0 && sound(d.Bandwidth), "%s: bandwidth is %g, want more than 0 bytes a second", name,
		d.Bandwidth)
	check(d.Rate > 0 || len(d.Speeds) > 0, "%s has neither speeds nor a rate", name)
	for n := range d.Speeds {
		d.Speeds[n].check(name, check)
	}
}

// kinds returns the names of the first kinds, for a message.
func (m *Machine) kinds() string {
	const most = 8
	var names []string
	for i := range m.Kinds {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%q", m.Kinds[i].Name))
	}
	return strings.Join(names, ", ")
}

// kind returns the kind with that name, nil if there is none.
func (m *Machine) kind(name string) *Kind {
	for i := range m.Kinds {
		if m.Kinds[i].Name == name {
			return &m.Kinds[i]
		}
	}
	return nil
}

// Take reduces the machine to its first nodes computing nodes, or enlarges its last group.
func (m *Machine) Take(nodes int) {
	if m.Apart {
		nodes++
	}
	for i := range m.Nodes {
		g := &m.Nodes[i]
		if nodes <= g.Count || i == len(m.Nodes)-1 {
			g.Count = nodes
			m.Nodes = m.Nodes[:i+1]
			return
		}
		nodes -= g.Count
	}
}

// Count returns the number of nodes, including the driver.
func (m *Machine) Count() (n int) {
	for _, g := range m.Nodes {
		n += g.Count
	}
	return n
}

// Scheduling returns the policy that p stands for: the zero one is dispatch.EarliestFinish if nodes
// have devices, as in runs with accelerators.
func (m *Machine) Scheduling(p dispatch.Kind) dispatch.Kind {
	if slices.ContainsFunc(m.Nodes, func(g Nodes) bool { k := m.kind(g.Kind); return k != nil && len(k.Devices) > 0 }) {
		return cmp.Or(p, dispatch.EarliestFinish)
	}
	return p
}

// sockets, cores and threads return the numbers of sockets, of all cores, and of a task's threads.
func (k *Kind) sockets() int { return max(k.Sockets, 1) }
func (k *Kind) cores() int   { return k.sockets() * k.Cores }
func (k *Kind) threads() int { return max(k.Threads, 1) }

// Tasks returns how many tasks the cores of a node execute at a time.
func (k *Kind) Tasks() int {
	if k.Workers > 0 {
		return k.Workers
	}
	return k.cores()
}

// accelerators returns how many devices a node of the kind has.
func (k *Kind) accelerators() (n int) {
	for i := range k.Devices {
		n += max(k.Devices[i].Count, 1)
	}
	return n
}

// AllTasks returns how many tasks a node executes at a time, including those on devices.
func (k *Kind) AllTasks() int { return k.Tasks() + k.accelerators() }

// target returns the target of the kind's workers.
func (k *Kind) target() *versions.Target {
	perSocket := (k.Tasks() + k.sockets() - 1) / k.sockets()
	units := max(k.cores()/k.Tasks(), perSocket)
	return &versions.Target{Kind: "cpu", Arch: k.Arch, Processor: k.Processor, Features: k.Features, Units: units,
		Ops: k.Ops}
}
