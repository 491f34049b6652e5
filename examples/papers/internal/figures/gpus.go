package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
)

// minotauro returns a model of Minotauro with the given number of nodes, half of each kind. The cores of each
// socket execute two tasks at a time.
func minotauro(nodes int) *sim.Machine {
	m := machine("minotauro")
	for i := range m.Kinds {
		m.Nodes[i].Count = nodes / 2
		slots(&m.Kinds[i], 2, 1, nil)
	}
	return m
}

// How GPUs get values, as series of figure 23.
var gpuCases = []struct {
	name   string
	change func(m *sim.Machine, d *sim.Device)
}{
	{"without GPUs", func(m *sim.Machine, d *sim.Device) {}},
	{"files, and copies for each task", func(m *sim.Machine, d *sim.Device) { d.Returns = true }},
	{"copies for each task", func(m *sim.Machine, d *sim.Device) { d.Returns, m.Costs.Serial = true, 0 }},
	{"values stay on GPUs", func(m *sim.Machine, d *sim.Device) { m.Costs.Serial = 0 }},
}

// gpus is the content of figure 23 as numbers, and variants of it.
func gpus(ctx context.Context, r *Result) error {
	r.Chart.YLabel = "GFLOP/s"
	r.Chart.Categories = []string{"2 nodes", "4 nodes"}
	const blocks = 16
	var busy [2]float64 // part of the time in which GPUs compute if values stay there
	for at, nodes := range []int{2, 4} {
		for n, c := range gpuCases {
			m := minotauro(nodes)
			for i := range m.Kinds {
				for d := range m.Kinds[i].Devices {
					c.change(m, &m.Kinds[i].Devices[d])
				}
				if n == 0 {
					m.Kinds[i].Devices = nil
				}
			}
			opt := options(m, dispatch.Locality, looking(m))
			opt.Record, opt.Policy = true, dispatch.EarliestFinish
			var first outcome
			seconds, err := often(func(seed uint64) (outcome, error) {
				m.Noise.Seed = seed
				x, err := run(ctx, opt, 4*k, factored(blocks))
				if seed == 0 {
					first = x
				}
				return x, err
			})
			if err != nil {
				return err
			}
			r.add(c.name, float64(at), cube(blocks*4*k)/seconds)
			switch n {
			case 1:
				r.processors(m, first)
			case 3:
				busy[at] = onGPUs(m, first)
			}
		}
	}
	for at, nodes := range r.Chart.Categories {
		g := func(i int) float64 { return r.at(gpuCases[i].name, float64(at)) }
		r.claim("values that stay on GPUs are faster than copies, "+nodes, g(3) > 1.05*g(2), "%.0f and %.0f GFLOP/s", g(3), g(2))
		r.claim("files and copies are what makes it slow, "+nodes, g(3) > 1.5*g(1), "%.0f GFLOP/s with both, %.0f without; on cores alone %.0f", g(1), g(3), g(0))
	}
	r.note("The paper shows traces, and gives no numbers: \"the performance remains really poor since all the data is copied between the CPU and the GPU memory each time\". It proposes a cache of GPU memory, which Tessera's runtime has: the last case is with one. The two are alike here: all products are then on GPUs, which compute for %.0f and %.0f %% of the time on 2 and 4 nodes. What takes long is the longest path, of factorizations and solutions on cores; those of an E5649 are slow, so that single runs differ by up to a quarter from the mean.", 100*busy[0], 100*busy[1])
	r.note("Means of seven runs, with other times of tasks. Assumed: blocks of 4096, as in the other figures; two tasks at a time on the cores of a socket; three quarters of the published peaks. A node gives each task to the processor that is expected to end it first.")
	return nil
}

// processorsOf returns the name of the processor of each worker.
func processorsOf(m *sim.Machine) (names []string) {
	for _, g := range m.Nodes {
		for i := range m.Kinds {
			if k := &m.Kinds[i]; k.Name == g.Kind {
				each := slices.Repeat([]string{k.Processor}, k.Tasks())
				for _, d := range k.Devices {
					each = append(each, slices.Repeat([]string{d.Name}, d.Count)...)
				}
				names = append(names, slices.Repeat(each, g.Count)...)
			}
		}
	}
	return names
}

// onGPUs returns the part of the time in which GPUs compute.
func onGPUs(m *sim.Machine, x outcome) float64 {
	on, busy, gpus := processorsOf(m), 0.0, 0
	for _, name := range on {
		if isGPU(name) {
			gpus++
		}
	}
	for _, e := range x.record.Events {
		if isGPU(on[e.Worker]) {
			busy += (e.End - e.Start).Seconds()
		}
	}
	return busy / x.Seconds / float64(gpus)
}

func isGPU(name string) bool { return name == "M2090" || name == "GK210" }

// processors adds the claim that one run uses four kinds of processors.
func (r *Result) processors(m *sim.Machine, x outcome) {
	names, nodes := processorsOf(m), 0
	for _, g := range m.Nodes {
		nodes += g.Count
	}
	kinds := []string{"E5649", "M2090", "E5-2630", "GK210"}
	count, others := map[string]int{}, 0
	for _, e := range x.record.Events {
		on := names[e.Worker]
		count[on]++
		if isGPU(on) && e.Op != "gemm/f64" {
			others++
		}
	}
	var text []string
	all := others == 0
	for _, name := range kinds {
		text = append(text, fmt.Sprintf("%s %d", name, count[name]))
		all = all && count[name] > 0
	}
	r.claim(fmt.Sprintf("four kinds of processors in one run, and GPUs execute only gemm, %d nodes", nodes), all, "%s tasks", strings.Join(text, ", "))
}
