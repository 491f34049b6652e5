package plotting

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// addDisturbed rings the points whose measurement was disturbed.
func (c *Chart) addDisturbed(p *plot.Plot, legend *plot.Legend) error {
	return c.mark(p, legend, "disturbed", func(q Point) bool { return q.Disturbed && !q.Failed }, draw.RingGlyph{}, color.Black, 8)
}

// addFailures crosses out the points with wrong results.
func (c *Chart) addFailures(p *plot.Plot, legend *plot.Legend) error {
	return c.mark(p, legend, "wrong result", func(q Point) bool { return q.Failed }, boldCross{}, color.RGBA{0xd0, 0, 0, 0xff}, 7)
}

// mark draws a marker at the points for which which returns true, and explains it in the legend.
func (c *Chart) mark(p *plot.Plot, legend *plot.Legend, name string, which func(Point) bool, shape draw.GlyphDrawer, colour color.Color, radius float64) error {
	var all plotter.XYs
	for i, s := range c.Series {
		for _, q := range s.Points {
			if which(q) {
				all = append(all, plotter.XY{X: c.position(i, q.X), Y: q.Y})
			}
		}
	}
	if all == nil {
		return nil
	}
	marks, err := plotter.NewScatter(all)
	if err != nil {
		return err
	}
	marks.Color, marks.Shape, marks.Radius = colour, shape, vg.Points(radius)
	p.Add(marks)
	legend.Add(name, marks)
	return nil
}

// boldCross is a cross that differs from the markers of the series.
type boldCross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (boldCross) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: sty.Color, Width: vg.Points(2.5)})
	for _, slope := range []vg.Length{1, -1} {
		var p vg.Path
		p.Move(vg.Point{X: at.X - sty.Radius, Y: at.Y - slope*sty.Radius})
		p.Line(vg.Point{X: at.X + sty.Radius, Y: at.Y + slope*sty.Radius})
		c.Stroke(p)
	}
}
