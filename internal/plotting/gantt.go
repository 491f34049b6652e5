package plotting

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Gantt shows what each worker did when: a row for each worker, with time from left to right.
type Gantt struct {
	Title, XLabel string
	Rows          []string // from top to bottom
	Kinds         []string // of bars, each with a colour
	Bars          []Bar
}

// Bar is an interval of one row.
type Bar struct {
	Row, Kind int
	From, To  float64
}

// Render writes the picture to w. It returns ErrEmpty if there are no bars, or w's error.
func (g *Gantt) Render(w io.Writer, format Format) error {
	if len(g.Bars) == 0 {
		return ErrEmpty
	}
	p := plot.New()
	legend := plot.NewLegend()
	style(p, &legend, g.Title, g.XLabel, "")
	for _, b := range g.Bars {
		p.X.Max = max(p.X.Max, b.To)
	}
	for k, name := range g.Kinds {
		legend.Add(name, gantt{g, k})
	}
	p.Add(gantt{g, 0})
	p.X.Min, p.X.Max = 0, p.X.Max*1.02
	p.X.Tick.Marker = plot.ConstantTicks(rateTicks(p.X.Max))
	p.Y.Min, p.Y.Max = -float64(len(g.Rows))+0.5, 0.5
	var ticks []plot.Tick
	for i, name := range g.Rows {
		ticks = append(ticks, plot.Tick{Value: -float64(i), Label: name})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	return write(w, format, p, &legend)
}

// gantt draws the bars of one kind, and its entry in the legend.
type gantt struct {
	*Gantt
	kind int
}

// rowHeight is the part of a row's height that its bars fill.
const rowHeight = 0.8

// Plot implements plot.Plotter. It leaves a gap between neighbouring bars if there is room.
func (g gantt) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	for _, b := range g.Bars {
		from, to := x(b.From), x(b.To)
		if gap := vg.Points(0.6); to-from > 4*gap {
			to -= gap
		}
		row := -float64(b.Row)
		canvas.FillPolygon(colour(b.Kind), rectangle(from, y(row-rowHeight/2), to, y(row+rowHeight/2)))
	}
	canvas.SetLineStyle(draw.LineStyle{Color: color.Gray{0xd8}, Width: vg.Points(0.5)})
	for i := range g.Rows {
		var line vg.Path
		line.Move(vg.Point{X: canvas.Min.X, Y: y(-float64(i) - 0.5)})
		line.Line(vg.Point{X: canvas.Max.X, Y: y(-float64(i) - 0.5)})
		canvas.Stroke(line)
	}
}

// Thumbnail implements plot.Thumbnailer.
func (g gantt) Thumbnail(canvas *draw.Canvas) {
	canvas.FillPolygon(colour(g.kind), rectangle(canvas.Min.X, canvas.Min.Y, canvas.Max.X, canvas.Max.Y))
}
