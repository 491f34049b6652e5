package planner

import "github.com/tessera-la/tessera/exec/sim"

// computing yields the groups of nodes that compute. A driver that does not compute is left out.
func computing(m *sim.Machine, yield func(k *sim.Kind, count int)) {
	for i, g := range m.Nodes {
		if i == 0 && m.Apart {
			g.Count--
		}
		for k := range m.Kinds {
			if m.Kinds[k].Name == g.Kind && g.Count > 0 {
				yield(&m.Kinds[k], g.Count)
			}
		}
	}
}

// workersOf returns the number of computing workers, including those of devices.
func workersOf(m *sim.Machine) (n int) {
	computing(m, func(k *sim.Kind, count int) { n += count * k.AllTasks() })
	return n
}

// rates returns the speeds of the computing nodes, based on their fastest product of tiles.
func rates(m *sim.Machine, typ string) (all []float64, err error) {
	op := "gemm/" + typ
	computing(m, func(k *sim.Kind, count int) {
		best := k.Rate
		for i := range k.Speeds {
			for _, p := range k.Speeds[i].Points {
				if k.Speeds[i].Op == op {
					best = max(best, p.Work/p.All)
				}
			}
		}
		if best == 0 {
			err = &sim.UnknownSpeedError{Kind: k.Name, Op: op}
		}
		for range count {
			all = append(all, best*float64(k.Tasks()))
		}
	})
	return all, err
}
