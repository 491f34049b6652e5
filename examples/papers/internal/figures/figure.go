package figures

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/tessera-la/tessera/internal/plotting"
)

// Figure is a figure of a paper that this package can make.
type Figure struct {
	Name  string // as in "pycompss-15"
	Paper string
	Title string
	make  func(ctx context.Context, r *Result) error
}

// Result is the content of a figure.
type Result struct {
	Chart plotting.Chart
	// Published are numbers that the paper gives, with ours.
	Published []Number
	// Claims are statements of the paper about the shape.
	Claims []Claim
	// Notes state assumptions and, if the shape differs, the reason.
	Notes []string
}

// Number is a number that a paper gives.
type Number struct {
	What        string
	Paper, Here float64
	Unit        string
}

// Claim is a statement of a paper about the shape of a figure.
type Claim struct {
	What  string
	Holds bool
	Here  string // what our figure shows
}

// Make makes the figure. The error is that of ctx, or of an invalid program.
func (f *Figure) Make(ctx context.Context) (*Result, error) {
	r := &Result{}
	r.Chart.Title = f.Title
	if err := f.make(ctx, r); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return r, nil
}

// add adds a point to the named series.
func (r *Result) add(series string, x, y float64) {
	for i := range r.Chart.Series {
		if s := &r.Chart.Series[i]; s.Name == series {
			s.Points = append(s.Points, plotting.Point{X: x, Y: y})
			return
		}
	}
	r.Chart.Series = append(r.Chart.Series, plotting.Series{Name: series, Points: []plotting.Point{{X: x, Y: y}}})
}

// at returns the value of a series at x. It returns 0 if there is none.
func (r *Result) at(series string, x float64) float64 {
	for _, s := range r.Chart.Series {
		for _, p := range s.Points {
			if s.Name == series && p.X == x {
				return p.Y
			}
		}
	}
	return 0
}

// line adds a dashed line.
func (r *Result) line(name string, points ...plotting.Point) {
	r.Chart.References = append(r.Chart.References, plotting.Reference{Name: name, Series: -1, Points: points})
}

// ideal adds a dashed line proportional to x, with the value y at x = 1. It has as many points as the series.
func (r *Result) ideal(name string, y float64) {
	var points []plotting.Point
	for _, p := range r.Chart.Series[0].Points {
		points = append(points, plotting.Point{X: p.X, Y: p.X * y})
	}
	r.line(name, points...)
}

func (r *Result) published(what, unit string, paper, here float64) {
	r.Published = append(r.Published, Number{what, paper, here, unit})
}

func (r *Result) claim(what string, holds bool, here string, args ...any) {
	r.Claims = append(r.Claims, Claim{what, holds, fmt.Sprintf(here, args...)})
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// WriteCSV writes the points as series, x and y, followed by lines and published numbers.
func (r *Result) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write([]string{"kind", "series", "x", "y"})
	points := func(kind, name string, all []plotting.Point) {
		for _, p := range all {
			x := fmt.Sprint(p.X)
			if i := int(p.X); len(r.Chart.Categories) > 0 {
				x = r.Chart.Categories[i]
			}
			c.Write([]string{kind, name, x, fmt.Sprintf("%.6g", p.Y)})
		}
	}
	for _, s := range r.Chart.Series {
		points("simulated", s.Name, s.Points)
	}
	for _, l := range r.Chart.References {
		points("line", l.Name, l.Points)
	}
	for _, n := range r.Published {
		c.Write([]string{"published", n.What + ", " + n.Unit, "", fmt.Sprintf("%.6g", n.Paper)})
		c.Write([]string{"beside it", n.What + ", " + n.Unit, "", fmt.Sprintf("%.6g", n.Here)})
	}
	c.Flush()
	return c.Error()
}
