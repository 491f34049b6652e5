package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/figures"
	"github.com/tessera-la/tessera/cmd/labench/internal/plotting"
)

func newFiguresCommand(a *app) *cobra.Command {
	var dir string
	all := figures.All()
	var known []string
	list := ""
	for _, f := range all {
		known = append(known, f.Name)
		list += fmt.Sprintf("\n  %-13s%s", f.Name, f.Title)
	}
	cmd := &cobra.Command{
		Use:   "figures [FIGURE] …",
		Short: "Make figures of the papers that Tessera follows, in virtual time",
		Long: `Make figures of the papers that Tessera follows, in virtual time: their programs
on their machines. Each is written as a picture and a CSV file, and what the
papers say of it stands beside what came out. All of them take a few minutes.
` + list,
		Example: `  labench figures
  labench figures pycompss-15 pycompss-19 --out pictures`,
		ValidArgs: known,
		RunE: func(cmd *cobra.Command, args []string) error {
			var chosen []figures.Figure
			for _, name := range args {
				if k := slices.Index(known, name); k >= 0 {
					chosen = append(chosen, all[k])
				} else {
					return usage(&unknownError{"figure", name, known})
				}
			}
			if len(args) == 0 {
				chosen = all
			}
			return a.makeFigures(cmd.Context(), chosen, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "out", "figures", "folder for the files")
	return cmd
}

// makeFigures writes figures into a folder and prints what is to be said of them.
func (a *app) makeFigures(ctx context.Context, chosen []figures.Figure, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	line := newStatus(a.err)
	defer line.clear()
	for i := range chosen {
		f := &chosen[i]
		line.set("%s, %d/%d", f.Name, i+1, len(chosen))
		r, err := f.Make(ctx)
		line.clear()
		if err != nil {
			return err
		}
		base := filepath.Join(dir, f.Name)
		err = writeWhole([]string{base + ".svg", base + ".csv"}, func(to []io.Writer) error {
			if err := r.Chart.Render(to[0], plotting.SVG); err != nil {
				return err
			}
			return r.WriteCSV(to[1])
		})
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if _, err := io.WriteString(a.out, figureText(newPaint(a.out), f, r, base)); err != nil {
			return err
		}
	}
	return nil
}

// figureText is what is to be said of a figure.
func figureText(p paint, f *figures.Figure, r *figures.Result, base string) string {
	var b strings.Builder
	b.WriteString(p.bold(f.Name) + "  " + f.Title + "\n")
	b.WriteString(wrapped(label("paper"), f.Paper))
	for _, c := range r.Claims {
		verdict := p.bad("differs")
		if c.Holds {
			verdict = p.good("holds")
		}
		b.WriteString(wrapped(label(""), fmt.Sprintf("%s: %s: %s", verdict, c.What, c.Here)))
	}
	for _, n := range r.Published {
		b.WriteString(wrapped(label(""), fmt.Sprintf("%s: %s in the paper, %s here (%s)", n.What, digits(n.Paper), digits(n.Here), n.Unit)))
	}
	for _, n := range r.Notes {
		b.WriteString(wrapped(label("note"), n))
	}
	fmt.Fprintf(&b, "%s%s.svg, %s.csv\n", label("files"), base, base)
	return b.String()
}

// digits returns a number with as many digits as matter, whole ones with all.
func digits(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
