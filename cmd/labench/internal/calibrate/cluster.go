package calibrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec/sim"
)

// Agents describes the agents of a cluster.
type Agents struct {
	Workers []int // of each
	Own     int   // the driver's
	// Apart says that the driver does not compute.
	Apart bool
	// Together says that all nodes are processes on the driver's computer.
	Together bool
	Links    []Link
	Load     Load
}

// Cluster turns m, the machine that [Here] has measured on the driver, into a cluster with agents. The agents'
// cores are assumed to be as fast as those of m. All nodes share one link: the median of the measured ones.
func Cluster(ctx context.Context, m *sim.Machine, x Agents) error {
	here, host := m.Kinds[0], ""
	if x.Together {
		host = here.Name
	}
	if x.Own != here.Cores {
		m.Kinds[0].Workers = x.Own
	}
	m.Apart, m.Nodes = x.Apart, []sim.Nodes{{Kind: here.Name, Count: 1, Host: host}}
	for _, n := range x.Workers {
		k := here
		if n != here.Cores || n != x.Own {
			k.Name, k.Cores = fmt.Sprintf("%d workers", n), n
			if n == 1 {
				k.Name = "1 worker"
			}
		}
		if !slices.ContainsFunc(m.Kinds, func(o sim.Kind) bool { return o.Name == k.Name }) {
			m.Kinds = append(m.Kinds, k)
		}
		// The nodes of a group have consecutive numbers.
		if last := &m.Nodes[len(m.Nodes)-1]; len(m.Nodes) > 1 && last.Kind == k.Name {
			last.Count++
		} else {
			m.Nodes = append(m.Nodes, sim.Nodes{Kind: k.Name, Count: 1, Host: host})
		}
	}
	var latency, bandwidth []float64
	for _, l := range x.Links {
		latency, bandwidth = append(latency, l.Latency.Median), append(bandwidth, l.Bandwidth.Median)
	}
	m.Network = sim.Network{Latency: middle(latency), Bandwidth: middle(bandwidth)}
	m.Costs.Driver, m.Costs.Give, m.Costs.End = DriverPart, DriverPart, DriverPart
	workers := x.Workers
	if !x.Apart {
		workers = slices.Insert(slices.Clone(workers), 0, x.Own)
	}
	return x.Load.fit(ctx, m, workers)
}
