package plotting

import (
	"image/color"
	"io"

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
