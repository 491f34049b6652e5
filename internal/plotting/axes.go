package plotting

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// xRange returns the ends of the horizontal axis. They lie a little beyond the data, so that no marker is
// clipped.
func (c *Chart) xRange() (low, high float64) {
	if len(c.Categories) > 0 {
		return -0.6, float64(len(c.Categories)) - 0.4
	}
	xs := c.xValues()
	low, high = xs[0], xs[len(xs)-1]
	switch {
	case low == high:
		pad := math.Max(1, math.Abs(low)/2)
		return low - pad, high + pad
	case c.logarithmic():
		f := math.Pow(high/low, 0.04)
		return low / f, high * f
	}
	pad := (high - low) * 0.04
	return low - pad, high + pad
}

// axes sets ranges and ticks. It must run after the data is added, since adding data widens the ranges.
func (c *Chart) axes(p *plot.Plot) {
	p.X.Min, p.X.Max = c.xRange()
	p.Y.Min, p.Y.Max = 0, c.top()*1.06
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	p.X.Tick.Marker = plot.ConstantTicks(c.ticks())
	p.Y.Tick.Marker = plot.ConstantTicks(rateTicks(p.Y.Max))
	if c.logarithmic() {
		p.X.Scale = plot.LogScale{}
	}
}

// ticks returns a tick at each measured X. It has a label unless that would overlap the label before. The last
// tick always has one.
func (c *Chart) ticks() []plot.Tick {
	var ticks []plot.Tick
	if len(c.Categories) > 0 {
		for i, name := range c.Categories {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
		return ticks
	}
	low, high := c.xRange()
	place := func(x float64) float64 { return (x - low) / (high - low) }
	if c.logarithmic() {
		place = func(x float64) float64 { return math.Log(x/low) / math.Log(high/low) }
	}
	xs := c.xValues()
	const room = 0.065 // part of the axis for a label: five digits and a space
	free, last := math.Inf(-1), place(xs[len(xs)-1])
	for i, x := range xs {
		t := plot.Tick{Value: x}
		at := place(x)
		if i == len(xs)-1 || at >= free && at+room <= last {
			t.Label = strconv.FormatFloat(x, 'f', -1, 64)
			free = at + room
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// rateTicks returns four to ten labelled ticks from 0 to top. They are multiples of 1, 2 or 5 times a power of
// ten.
func rateTicks(top float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, f := range []float64{5, 2} {
		if f*step*4 <= top {
			step *= f
			break
		}
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= top; i++ {
		y := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: y, Label: strconv.FormatFloat(y, 'g', 6, 64)})
	}
	return ticks
}

func xys(points []Point) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		out[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	return out
}
