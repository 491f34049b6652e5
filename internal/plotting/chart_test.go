package plotting

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"gonum.org/v1/plot/plotter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keep names a directory to look at the pictures in.
var keep = flag.String("keep", "", "write the pictures of the tests to this directory")

// workersChart is a sweep over workers: a straight ideal line per series.
func workersChart() *Chart {
	c := &Chart{Title: "cholesky f64, nb = auto, sched = priority", XLabel: "workers", YLabel: "GFLOP/s (best of 5)"}
	peak := Reference{Name: "measured FMA peak", Series: -1}
	for s, n := range []int{1024, 2048, 4096} {
		var points, ideal []Point
		for i, w := range []float64{1, 2, 4, 8} {
			one := 60 + 15*float64(s)
			points = append(points, Point{X: w, Y: one * w * (1 - 0.07*float64(i)), Failed: n == 2048 && i == 2})
			ideal = append(ideal, Point{X: w, Y: one * w})
		}
		c.Series = append(c.Series, Series{Name: fmt.Sprintf("n = %d", n), Points: points})
		c.References = append(c.References, Reference{Name: "ideal: one worker × workers", Series: s, Points: ideal})
	}
	for _, w := range []float64{1, 2, 4, 8} {
		peak.Points = append(peak.Points, Point{X: w, Y: 124 * w})
	}
	c.References = append(c.References, peak)
	return c
}

// sizesChart is a sweep over many sizes, on a logarithmic axis.
func sizesChart() *Chart {
	c := &Chart{Title: "gemm f64, 2 workers", XLabel: "n (rows and columns)", YLabel: "GFLOP/s (best of 5)"}
	for s := range 9 {
		var points []Point
		for n := 64.0; n <= 8192; n *= math.Sqrt2 {
			points = append(points, Point{X: math.Round(n), Y: 200 * (1 - math.Exp(-n/float64(300+100*s)))})
		}
		c.Series = append(c.Series, Series{Name: fmt.Sprintf("nb = %d", 64*(s+1)), Points: points})
	}
	c.References = []Reference{{Name: "measured FMA peak", Series: -1, Points: []Point{{X: 64, Y: 248}, {X: 8192, Y: 248}}}}
	return c
}

// policiesChart has words on its axis.
func policiesChart() *Chart {
	c := &Chart{Title: "cholesky f64, 2 workers, nb = auto", XLabel: "policy", YLabel: "GFLOP/s (best of 5)",
		Categories: []string{"priority", "fifo", "lifo", "locality", "fifodata"}}
	for s, n := range []int{1024, 4096} {
		var points []Point
		for i := range c.Categories {
			points = append(points, Point{X: float64(i), Y: 120 + 40*float64(s) - 5*float64(i), Failed: s == 1 && i == 2, Disturbed: i == 2 || i == 3})
		}
		c.Series = append(c.Series, Series{Name: fmt.Sprintf("n = %d", n), Points: points})
	}
	c.References = []Reference{{Name: "measured FMA peak", Series: -1, Points: []Point{{X: 0, Y: 248}, {X: 4, Y: 248}}}}
	return c
}

func charts() map[string]*Chart {
	one := &Chart{Title: "one point", XLabel: "n", YLabel: "GFLOP/s",
		Series:     []Series{{Name: "measured", Points: []Point{{X: 1024, Y: 100}}}, {Name: "none of these ran"}},
		References: []Reference{{Name: "peak", Series: -1, Points: []Point{{X: 1024, Y: 120}}}}}
	low := &Chart{Title: "far below the peak", XLabel: "n", YLabel: "GFLOP/s",
		Series: []Series{{Name: "measured", Points: []Point{{X: 1024, Y: 5}, {X: 2048, Y: 9}}}},
		References: []Reference{{Name: "FMA peak, workers = 1", Series: -1, Points: []Point{{X: 1024, Y: 20}, {X: 2048, Y: 20}}},
			{Name: "FMA peak, workers = 2", Series: -1, Points: []Point{{X: 1024, Y: 25}, {X: 2048, Y: 25}}},
			{Name: "FMA peak, workers = 4", Series: -1, Points: []Point{{X: 1024, Y: 120}, {X: 2048, Y: 120}}}}}
	low.References = append(low.References, Reference{Name: "ideal", Series: 0, Points: []Point{{X: 1024, Y: 5}, {X: 2048, Y: 500}}})
	zero := &Chart{Series: []Series{{Name: "zero", Points: []Point{{X: 0, Y: 0}}}}}
	return map[string]*Chart{"workers": workersChart(), "sizes": sizesChart(), "policies": policiesChart(), "one": one, "low": low, "zero": zero}
}

func TestRender(t *testing.T) {
	for name, c := range charts() {
		for _, format := range []Format{PNG, SVG} {
			t.Run(name+"/"+endings[format], func(t *testing.T) {
				var out bytes.Buffer
				if err := c.Render(&out, format); err != nil {
					t.Fatal(err)
				}
				if *keep != "" {
					if err := os.WriteFile(filepath.Join(*keep, name+endings[format]), out.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				switch format {
				case PNG:
					checkPNG(t, out.Bytes(), len(c.Series))
				case SVG:
					checkSVG(t, out.Bytes(), c)
				}
			})
		}
	}
}

// checkPNG decodes the picture and looks for the colours of the series, which
// at least their legend has, and for a white edge, where nothing is cut off.
func checkPNG(t *testing.T, picture []byte, series int) {
	t.Helper()
	if !bytes.HasPrefix(picture, []byte("\x89PNG\r\n\x1a\n")) {
		t.Fatalf("no PNG header: %q", picture[:min(8, len(picture))])
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	b := img.Bounds()
	if b.Dx() != 9*dpi || b.Dy() != 5*dpi {
		t.Errorf("the picture is %v, want %d×%d", b, 9*dpi, 5*dpi)
	}
	count := make(map[color.RGBA]int)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			count[c]++
			if (x < 4 || y < 4 || x >= b.Max.X-4 || y >= b.Max.Y-4) && c != (color.RGBA{0xff, 0xff, 0xff, 0xff}) {
				t.Fatalf("something touches the edge at (%d, %d)", x, y)
			}
		}
	}
	if series > 1 {
		for i := range min(series, len(colours())) {
			if count[colours()[i].(color.RGBA)] == 0 && series > 2 {
				t.Errorf("colour %d is not in the picture", i)
			}
		}
	}
}

// checkSVG parses the picture and looks for all words of the chart.
func checkSVG(t *testing.T, picture []byte, c *Chart) {
	t.Helper()
	var words strings.Builder
	root := ""
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = token.Name.Local
			}
		case xml.CharData:
			words.Write(token)
		}
	}
	if root != "svg" {
		t.Errorf("the root element is %q", root)
	}
	want := append([]string{c.Title, c.XLabel, c.YLabel}, c.Categories...)
	for _, r := range c.References {
		want = append(want, r.Name)
	}
	for _, s := range c.Series {
		if len(s.Points) > 0 {
			want = append(want, s.Name)
		}
	}
	for _, w := range want {
		if !strings.Contains(words.String(), w) {
			t.Errorf("%q is not in the picture", w)
		}
	}
}

// TestBelow: a line that leaves the picture is drawn to its edge, and one that is above it is no entry of
// the legend.
func TestBelow(t *testing.T) {
	c := charts()["low"] // up to 25
	if got := c.below([]Point{{X: 1000, Y: 5}, {X: 2000, Y: 45}}); len(got) != 2 || got[1] != (Point{X: 1500, Y: 25}) {
		t.Errorf("%+v", got)
	}
	for _, line := range [][]Point{{{X: 1024, Y: 120}, {X: 2048, Y: 120}}, {{X: 1024, Y: 120}, {X: 2048, Y: 5}}, nil} {
		if got := c.below(line); got != nil {
			t.Errorf("%+v: %+v", line, got)
		}
	}
	long := &Chart{Series: []Series{{Points: []Point{{X: 1, Y: 10}, {X: 64, Y: 10}}}}}
	if got := long.below([]Point{{X: 1, Y: 0}, {X: 64, Y: 20}}); len(got) != 2 || math.Abs(got[1].X-8) > 1e-9 || got[1].Y != 10 {
		t.Errorf("on an axis of powers: %+v", got)
	}
	var svg bytes.Buffer
	if err := c.Render(&svg, SVG); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ideal, up to 500", "above the picture: FMA peak, workers = 4, up to 120"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
}

// TestReferenceOverCategories: of a reference that is above the picture over some categories, the others are drawn,
// each over its own.
func TestReferenceOverCategories(t *testing.T) {
	c := &Chart{Title: "policies", Categories: []string{"a", "b", "c", "d"},
		Series: []Series{{Name: "rate", Points: []Point{{X: 0, Y: 10}, {X: 1, Y: 20}, {X: 2, Y: 30}, {X: 3, Y: 40}}}}}
	step := func(x, y float64) plotter.XYs { return plotter.XYs{{X: x - 0.5, Y: y}, {X: x + 0.5, Y: y}} }
	for _, r := range []struct {
		line []Point
		want []plotter.XYs
	}{
		{[]Point{{X: 0, Y: 20}, {X: 1, Y: 500}, {X: 2, Y: 30}, {X: 3, Y: 40}}, []plotter.XYs{step(0, 20), append(step(2, 30), step(3, 40)...)}},
		{[]Point{{X: 0, Y: 500}, {X: 1, Y: 25}}, []plotter.XYs{step(1, 25)}},
		{[]Point{{X: 2, Y: 25}}, []plotter.XYs{step(2, 25)}},
		{[]Point{{X: 0, Y: 500}, {X: 3, Y: 500}}, nil},
	} {
		if diff := cmp.Diff(r.want, c.within(r.line)); diff != "" {
			t.Errorf("%v: %s", r.line, diff)
		}
		c.References = append(c.References, Reference{Name: fmt.Sprint("peak ", len(c.References)), Series: -1, Points: r.line})
	}
	var svg bytes.Buffer
	if err := c.Render(&svg, SVG); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"peak 0, up to 500", "peak 1, up to 500", "above the picture: peak 3, up to 500"} {
		if strings.Count(svg.String(), want) != 1 {
			t.Errorf("%q is not in the picture once", want)
		}
	}
}

// TestMarks: what is disturbed, and what is wrong, is marked, and the legend says what that means.
func TestMarks(t *testing.T) {
	c := policiesChart()
	var svg bytes.Buffer
	if err := c.Render(&svg, SVG); err != nil || !strings.Contains(svg.String(), "disturbed") || !strings.Contains(svg.String(), "wrong result") {
		t.Errorf("no marks: %v", err)
	}
	for i := range c.Series {
		for k := range c.Series[i].Points {
			c.Series[i].Points[k].Disturbed = false
		}
	}
	svg.Reset()
	if err := c.Render(&svg, SVG); err != nil || strings.Contains(svg.String(), "disturbed") {
		t.Errorf("a mark of nothing: %v", err)
	}
}

func TestRenderRefuses(t *testing.T) {
	at := func(p Point) []Series { return []Series{{Name: "s", Points: []Point{p}}} }
	for name, c := range map[string]*Chart{
		"no series": {},
		"no points": {Series: []Series{{Name: "s"}}},
		"NaN":       {Series: at(Point{Y: math.NaN()})},
		"Inf":       {Series: at(Point{X: math.Inf(1)})},
		"reference": {Series: at(Point{}), References: []Reference{{Points: []Point{{Y: math.NaN()}}}}},
	} {
		for _, format := range []Format{PNG, SVG} {
			if err := c.Render(io.Discard, format); err == nil {
				t.Errorf("%s: no error as %v", name, format)
			} else if strings.HasPrefix(name, "no ") != errors.Is(err, ErrEmpty) {
				t.Errorf("%s: error is %v", name, err)
			}
		}
	}
	broken := errors.New("disk full")
	if err := workersChart().Render(failing{broken}, PNG); !errors.Is(err, broken) {
		t.Errorf("error of a broken writer is %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var endings = map[Format]string{PNG: ".png", SVG: ".svg"}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"a.png": PNG, "x/y.PNG": PNG, "b.svg": SVG, "a.png.SVG": SVG} {
		if got, err := FormatOf(name); err != nil || got != want {
			t.Errorf("FormatOf(%q) = %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "png", "a.pdf", "a.", "a.png/b"} {
		_, err := FormatOf(name)
		if err == nil || !strings.Contains(err.Error(), ".png") || !strings.Contains(err.Error(), ".svg") {
			t.Errorf("FormatOf(%q) gives %v, which does not list the formats", name, err)
		}
	}
}

func TestTickLabelsDoNotCollide(t *testing.T) {
	for name, c := range charts() {
		if len(c.Categories) > 0 {
			continue
		}
		ticks := c.ticks()
		if len(ticks) != len(c.xValues()) {
			t.Errorf("%s: %d ticks for %d values", name, len(ticks), len(c.xValues()))
		}
		if ticks[len(ticks)-1].Label == "" {
			t.Errorf("%s: the last tick has no label", name)
		}
	}
}

func TestRateTicks(t *testing.T) {
	for top := 1e-3; top < 1e6; top *= 1.07 {
		ticks := rateTicks(top)
		if len(ticks) < 5 || len(ticks) > 11 {
			t.Errorf("%d ticks up to %g", len(ticks), top)
		}
		if last := ticks[len(ticks)-1].Value; ticks[0].Value != 0 || last > top || last < 0.7*top {
			t.Errorf("ticks from %g to %g on an axis up to %g", ticks[0].Value, last, top)
		}
	}
}
