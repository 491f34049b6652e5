package plotting

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// groupWidth is the part of a category's width that its bars fill.
const groupWidth = 0.8

// position returns the place of a point of a series on the horizontal axis. The bars of a category stand side
// by side, around its tick.
func (c *Chart) position(series int, x float64) float64 {
	if len(c.Categories) == 0 {
		return x
	}
	n := float64(len(c.Series))
	return x + groupWidth*((float64(series)+0.5)/n-0.5)
}

// bars draws one series as bars. Their widths are in units of the axis. gonum's bar chart needs widths in
// points, which are unknown until the plot is laid out.
type bars struct {
	chart  *Chart
	series int
}

func (c *Chart) addBars(p *plot.Plot, legend *plot.Legend) {
	for i, s := range c.Series {
		b := bars{c, i}
		p.Add(b)
		legend.Add(s.Name, b)
	}
}

// Plot implements plot.Plotter.
func (b bars) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	half := groupWidth / float64(len(b.chart.Series)) / 2 * 0.92 // a gap between neighbours
	for _, q := range b.chart.Series[b.series].Points {
		at := b.chart.position(b.series, q.X)
		canvas.FillPolygon(colour(b.series), rectangle(x(at-half), y(0), x(at+half), y(q.Y)))
	}
}

// Thumbnail implements plot.Thumbnailer.
func (b bars) Thumbnail(canvas *draw.Canvas) {
	canvas.FillPolygon(colour(b.series), rectangle(canvas.Min.X, canvas.Min.Y, canvas.Max.X, canvas.Max.Y))
}

func rectangle(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}
