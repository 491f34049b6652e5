package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/plotting"
)

// axis is a variable of a sweep.
type axis struct {
	name, label string
	asked       func(w *wish) int          // distinguishes values
	value       func(x *Prediction) int    // position on the axis
	word        func(x *Prediction) string // instead of value, if the axis has words
}

// axes returns the variables, in order of preference for the horizontal axis.
func axes() []axis {
	return []axis{
		{name: "nodes", label: "nodes", asked: func(w *wish) int { return w.nodes }, value: func(x *Prediction) int { return x.Count }},
		{name: "workers", label: "workers on each node", asked: func(w *wish) int { return w.workers }, value: func(x *Prediction) int { return x.Workers / x.Count }},
		{name: "nb", label: "nb (tile size)", asked: func(w *wish) int { return w.nb }, value: func(x *Prediction) int { return x.NB }},
		{name: "n", label: "n (order)", asked: func(w *wish) int { return w.n }, value: func(x *Prediction) int { return x.N }},
		{name: "grid", label: "rows of the grid of nodes", asked: func(w *wish) int { return w.rows }, value: func(x *Prediction) int { return x.Rows }},
		{name: "sched", label: "scheduling policy", word: func(x *Prediction) string { return x.Sched }},
	}
}

// varies reports whether a variable has several values.
func (v *axis) varies(all []trial) bool {
	return slices.ContainsFunc(all, func(t trial) bool {
		if v.word != nil {
			return v.word(&t.x) != v.word(&all[0].x)
		}
		return v.asked(&t.w) != v.asked(&all[0].w)
	})
}

// says formats the variable and its value.
func (v *axis) says(x *Prediction) string {
	if v.word != nil {
		return v.word(x)
	}
	return fmt.Sprintf("%s = %d", v.name, v.value(x))
}

// forecastChart returns the chart of a sweep over the first variable with several values. Each combination of
// the others is a series.
func forecastChart(m *sim.Machine, all []trial) *plotting.Chart {
	c := &plotting.Chart{YLabel: "GFLOP/s (predicted)"}
	if len(all) == 0 {
		return c
	}
	var vary []axis
	for _, v := range axes() {
		if v.varies(all) {
			vary = append(vary, v)
		}
	}
	if vary == nil {
		vary = axes()[:1]
	}
	over := vary[0]
	first := &all[0].x
	c.Title, c.XLabel = cmp.Or(m.Name, "a machine without a name")+"\n"+first.Op+" "+first.Type, over.label
	for i := range all {
		x := &all[i].x
		var words []string
		for k := range vary[1:] {
			words = append(words, vary[1+k].says(x))
		}
		name := cmp.Or(strings.Join(words, ", "), "predicted")
		var at float64
		if over.word != nil {
			w := over.word(x)
			if !slices.Contains(c.Categories, w) {
				c.Categories = append(c.Categories, w)
			}
			at = float64(slices.Index(c.Categories, w))
		} else {
			at = float64(over.value(x))
		}
		c.Add(name, plotting.Point{X: at, Y: x.GFLOPS})
	}
	return c
}
