package plotting

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGantt(t *testing.T) {
	g := &Gantt{Title: "a loop", XLabel: "ms", Rows: []string{"worker 0", "worker 1"}, Kinds: []string{"own chunks", "stolen chunks"}}
	for i := range 20 {
		g.Bars = append(g.Bars, Bar{Row: i % 2, Kind: i / 16, From: float64(i / 2), To: float64(i/2) + 0.97})
	}
	for _, format := range []Format{PNG, SVG} {
		var out bytes.Buffer
		if err := g.Render(&out, format); err != nil {
			t.Fatal(err)
		}
		if *keep != "" {
			if err := os.WriteFile(filepath.Join(*keep, "gantt"+endings[format]), out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		switch format {
		case PNG:
			checkPNG(t, out.Bytes(), 0)
		case SVG:
			for _, want := range append(append([]string{g.Title, g.XLabel}, g.Rows...), g.Kinds...) {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in the picture", want)
				}
			}
			if n := strings.Count(out.String(), "<path"); n < len(g.Bars) {
				t.Errorf("%d shapes for %d bars", n, len(g.Bars))
			}
		}
	}
	if err := (&Gantt{}).Render(io.Discard, PNG); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	broken := errors.New("disk full")
	if err := g.Render(failing{broken}, PNG); !errors.Is(err, broken) {
		t.Error(err)
	}
}
