package plotting

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// addReferences adds the dashed reference lines. Each name is in the legend once.
func (c *Chart) addReferences(p *plot.Plot, legend *plot.Legend) error {
	named := make(map[string]bool)
	plain := 0 // number of lines without a series' colour so far: their dashes distinguish them
	for _, r := range c.References {
		if len(r.Points) == 0 {
			continue
		}
		// The legend names what is drawn, and how far the rest goes.
		name := r.Name
		if h := highest(r.Points); h > c.top() {
			name = fmt.Sprintf("%s, up to %.4g", r.Name, h)
		}
		parts := c.within(r.Points)
		if parts == nil {
			// A line that is not drawn has no entry in the legend.
			p.Title.Text += "\nabove the picture: " + name
			continue
		}
		dashes := []vg.Length{vg.Points(5), vg.Points(3)}
		if r.Series < 0 {
			dashes = dotted(plain)
			plain++
		}
		for _, part := range parts {
			line, err := plotter.NewLine(part)
			if err != nil {
				return err
			}
			line.LineStyle = draw.LineStyle{Color: colour(r.Series), Width: vg.Points(1.2), Dashes: dashes}
			p.Add(line)
			if !named[r.Name] {
				named[r.Name] = true
				sample := *line
				sample.Color = colour(-1) // for references of series in several colours
				legend.Add(name, &sample)
			}
		}
	}
	return nil
}

// within returns the parts of a line that are in the picture, nil if there are none. Over categories each point is
// a piece as wide as its category, and a part is what follows one another there. Otherwise a line that leaves the
// picture at the top ends there, and one of a single X is as wide as the axis.
func (c *Chart) within(line []Point) (parts []plotter.XYs) {
	if len(c.Categories) == 0 {
		low := c.below(line)
		if low == nil {
			return nil
		}
		part := xys(low)
		if first, last := part[0], part[len(part)-1]; first.X == last.X {
			min, max := c.xRange()
			part = plotter.XYs{{X: min, Y: first.Y}, {X: max, Y: last.Y}}
		}
		return []plotter.XYs{part}
	}
	above := true
	for _, q := range line {
		was := above
		if above = q.Y > c.top(); above {
			continue
		}
		if was {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, plotter.XY{X: q.X - 0.5, Y: q.Y}, plotter.XY{X: q.X + 0.5, Y: q.Y})
	}
	return parts
}

// below returns the part of a line up to where it leaves the picture at the top. It returns nil if there is none.
func (c *Chart) below(line []Point) (within []Point) {
	top := c.top()
	for i, q := range line {
		if q.Y > top {
			if i == 0 {
				return nil
			}
			p := line[i-1]
			part := (top - p.Y) / (q.Y - p.Y)
			x := p.X + part*(q.X-p.X)
			if c.logarithmic() && p.X > 0 {
				x = p.X * math.Pow(q.X/p.X, part)
			}
			return append(within, Point{X: x, Y: top})
		}
		within = append(within, q)
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
