package plotting

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Chart is a picture of measured rates. Rates start at zero on the vertical
// axis, so that heights can be compared by eye.
type Chart struct {
	Title, XLabel, YLabel string

	// Categories, if not empty, are the labels of the horizontal axis. The X of a point is then an index into
	// them, and points are drawn as bars.
	Categories []string
	Series     []Series
	References []Reference
}

// Series is measurements of one kind, drawn in one colour with one marker.
type Series struct {
	Name   string
	Points []Point // by ascending X
}

// Point is one measurement.
type Point struct {
	X, Y      float64
	Failed    bool // the result was wrong: Y must not be believed
	Disturbed bool // something else ran meanwhile, or measurements disagree: Y may be too low
}

// Reference is a line to compare measurements with. It is dashed and has no markers.
type Reference struct {
	Name   string // of several lines with one name, only the first is in the legend
	Series int    // index of the series whose colour it takes, or -1
	Points []Point
}

// Add adds a point to the series of that name, which is a new one if there is none, and returns the index of the series.
func (c *Chart) Add(series string, p Point) int {
	k := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == series })
	if k < 0 {
		k = len(c.Series)
		c.Series = append(c.Series, Series{Name: series})
	}
	c.Series[k].Points = ascending(c.Series[k].Points, p)
	return k
}

// Add adds a point to the line.
func (r *Reference) Add(p Point) { r.Points = ascending(r.Points, p) }

// ascending returns points with p among them.
func ascending(points []Point, p Point) []Point {
	at, _ := slices.BinarySearchFunc(points, p.X, func(q Point, x float64) int { return cmp.Or(cmp.Compare(q.X, x), -1) })
	return slices.Insert(points, at, p)
}

// Format is the file format of a picture.
type Format uint8

// The formats.
const (
	PNG Format = iota
	SVG
)

// FormatOf returns the format for the ending of a file name, in upper or lower case.
func FormatOf(file string) (Format, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".png":
		return PNG, nil
	case ".svg":
		return SVG, nil
	}
	return 0, fmt.Errorf("%s: cannot tell the format of the plot; end the name with .png or .svg", file)
}

// ErrEmpty is returned for a chart without a point.
var ErrEmpty = errors.New("plotting: nothing to plot")

// xValues returns the different X of all series, ascending.
func (c *Chart) xValues() []float64 {
	var xs []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// crowded is how many times higher than the measurements a reference may be and still be drawn. With a higher
// one, all measurements would lie near the bottom.
const crowded = 3

// top returns the largest Y that is drawn.
func (c *Chart) top() float64 {
	measured := 0.0
	for _, s := range c.Series {
		measured = max(measured, highest(s.Points))
	}
	top := measured
	for _, r := range c.References {
		if h := highest(r.Points); h <= crowded*measured {
			top = max(top, h)
		}
	}
	return top
}

func highest(points []Point) float64 {
	y := 0.0
	for _, p := range points {
		y = max(y, p.Y)
	}
	return y
}

// wideRange is the ratio of the largest to the smallest X from which on the axis is logarithmic. Below it, the
// small X are not yet crowded.
const wideRange = 16

func (c *Chart) logarithmic() bool {
	if len(c.Categories) > 0 {
		return false
	}
	xs := c.xValues()
	return xs[0] > 0 && xs[len(xs)-1]/xs[0] >= wideRange
}
