package plotting

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 9 * vg.Inch
	height = 5 * vg.Inch
	dpi    = 144 // legible on a dense screen, and still a small file
	margin = 12 * vg.Inch / 72
)

// markers returns the shapes of markers. Their number and that of the colours are coprime, so that together
// they distinguish 56 series.
func markers() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.PlusGlyph{},
		draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
	}
}

// Render writes the chart to w as a picture of 9×5 inches. It returns ErrEmpty if there are no points, an error
// about a number that cannot be drawn, or w's error.
func (c *Chart) Render(w io.Writer, format Format) error {
	if len(c.xValues()) == 0 {
		return ErrEmpty
	}
	p := plot.New()
	legend := plot.NewLegend()
	style(p, &legend, c.Title, c.XLabel, c.YLabel)

	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = color.Gray{0xd8}
	p.Add(grid)
	if len(c.Categories) > 0 {
		c.addBars(p, &legend)
	} else if err := c.addLines(p, &legend); err != nil {
		return err
	}
	if err := c.addReferences(p, &legend); err != nil {
		return err
	}
	if err := c.addDisturbed(p, &legend); err != nil {
		return err
	}
	if err := c.addFailures(p, &legend); err != nil {
		return err
	}
	c.axes(p)
	return write(w, format, p, &legend)
}

// write draws a plot with its legend on the right, and writes the picture.
func write(w io.Writer, format Format, p *plot.Plot, legend *plot.Legend) error {
	var canvas vg.CanvasSizer
	var out io.WriterTo
	switch format {
	case SVG:
		s := vgsvg.New(width, height)
		canvas, out = s, s
	default:
		s := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		canvas, out = s, vgimg.PngCanvas{Canvas: s}
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	page = draw.Crop(page, margin, -margin, margin, -margin)
	// The legend stands to the right of the data, never on it.
	side := legend.Rectangle(page).Size().X
	if format == SVG { // an SVG only names its font; a viewer may use a wider one
		side *= 1.2
	}
	side += margin
	p.Draw(draw.Crop(page, 0, -side, 0, 0))
	legend.Draw(draw.Crop(page, page.Rectangle.Size().X-side+margin, 0, 0, -p.Title.TextStyle.Height(p.Title.Text)-p.Title.Padding))
	_, err := out.WriteTo(w)
	return err
}

// style sets the texts and fonts of a plot.
func style(p *plot.Plot, legend *plot.Legend, title, xLabel, yLabel string) {
	p.Title.Text = title
	p.Title.TextStyle.Font.Variant = "Sans"
	p.Title.TextStyle.Font.Size = font.Points(13)
	p.Title.Padding = vg.Points(10)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Variant = "Sans"
		axis.Label.TextStyle.Font.Size = font.Points(11)
		axis.Label.Padding = vg.Points(4)
		axis.Tick.Label.Font.Variant = "Sans"
		axis.Tick.Label.Font.Size = font.Points(10)
		axis.Padding = 0
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	legend.TextStyle.Font.Variant = "Sans"
	legend.TextStyle.Font.Size = font.Points(10)
	legend.Top, legend.Left = true, true
	legend.Padding = vg.Points(4)
	legend.ThumbnailWidth = vg.Points(28)
}

// addLines adds each series as a line with markers.
func (c *Chart) addLines(p *plot.Plot, legend *plot.Legend) error {
	for i, s := range c.Series {
		if len(s.Points) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xys(s.Points))
		if err != nil {
			return err
		}
		line.Color = colour(i)
		line.Width = vg.Points(1.8)
		points.Color = colour(i)
		points.Shape = markers()[i%len(markers())]
		points.Radius = vg.Points(4)
		p.Add(line, points)
		legend.Add(s.Name, line, points)
	}
	return nil
}

// addReferences adds the dashed reference lines. Each name is in the legend once.
func (c *Chart) addReferences(p *plot.Plot, legend *plot.Legend) error {
	named := make(map[string]bool)
	plain := 0 // number of lines without a series' colour so far: their dashes distinguish them
	for _, r := range c.References {
		if len(r.Points) == 0 {
			continue
		}
		// A line that leaves the picture ends at its edge. The legend names what is drawn, and how far the rest
		// goes.
		within, name := r.Points, r.Name
		if h := highest(r.Points); h > c.top() {
			if within = c.below(r.Points); within == nil {
				// A line that is not drawn has no entry in the legend.
				p.Title.Text += fmt.Sprintf("\nabove the picture: %s, up to %.4g", r.Name, h)
				continue
			}
			name = fmt.Sprintf("%s, up to %.4g", r.Name, h)
		}
		points := xys(within)
		first, last := points[0], points[len(points)-1]
		switch {
		case len(c.Categories) > 0:
			points = plotter.XYs{{X: -0.5, Y: first.Y}}
			for _, q := range r.Points {
				points = append(points, plotter.XY{X: q.X - 0.5, Y: q.Y}, plotter.XY{X: q.X + 0.5, Y: q.Y})
			}
		case first.X == last.X: // a single X: draw a line as wide as the axis
			min, max := c.xRange()
			points = plotter.XYs{{X: min, Y: first.Y}, {X: max, Y: last.Y}}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color = colour(r.Series)
		line.Width = vg.Points(1.2)
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		if r.Series < 0 {
			line.Dashes = dotted(plain)
			plain++
		}
		p.Add(line)
		if !named[r.Name] {
			named[r.Name] = true
			sample := *line
			sample.Color = colour(-1) // for references of series in several colours
			legend.Add(name, &sample)
		}
	}
	return nil
}

// below returns the part of a line up to where it leaves the picture at the top. It returns nil if there is
// none, or if the axis has categories, since then nothing lies between two points.
func (c *Chart) below(line []Point) (within []Point) {
	top := c.top()
	for i, q := range line {
		if q.Y > top {
			if i > 0 && within != nil && len(c.Categories) == 0 {
				p := line[i-1]
				part := (top - p.Y) / (q.Y - p.Y)
				x := p.X + part*(q.X-p.X)
				if c.logarithmic() && p.X > 0 {
					x = p.X * math.Pow(q.X/p.X, part)
				}
				within = append(within, Point{X: x, Y: top})
			}
			break
		}
		within = append(within, q)
	}
	if len(within) < 2 {
		return nil
	}
	return within
}

// dotted returns the i-th of four patterns of dots and dashes; the first has dots only.
func dotted(i int) []vg.Length {
	dot, gap := vg.Points(1.5), vg.Points(2.5)
	pattern := []vg.Length{dot, gap}
	for range i % 4 {
		pattern = append([]vg.Length{vg.Points(8), gap}, pattern...)
	}
	return pattern
}

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
