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
	"github.com/tessera-la/tessera/examples/papers/internal/figures"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/plotting"
	"github.com/tessera-la/tessera/internal/report"
)

func newFiguresCommand(a *cli.App) *cobra.Command {
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
		Example: `  papers figures
  papers figures pycompss-15 pycompss-19 --out pictures`,
		ValidArgs: known,
		RunE: func(cmd *cobra.Command, args []string) error {
			var chosen []figures.Figure
			for _, name := range args {
				if k := slices.Index(known, name); k >= 0 {
					chosen = append(chosen, all[k])
				} else {
					return cli.Usage(&cli.UnknownError{What: "figure", Word: name, Known: known})
				}
			}
			if len(args) == 0 {
				chosen = all
			}
			return makeFigures(cmd.Context(), a, chosen, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "out", "figures", "folder for the files")
	return cmd
}

// makeFigures writes figures into a folder and prints their descriptions.
func makeFigures(ctx context.Context, a *cli.App, chosen []figures.Figure, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	line := report.NewStatus(a.Err)
	defer line.Clear()
	for i := range chosen {
		f := &chosen[i]
		line.Set("%s, %d/%d", f.Name, i+1, len(chosen))
		r, err := f.Make(ctx)
		line.Clear()
		if err != nil {
			return err
		}
		base := filepath.Join(dir, f.Name)
		err = cli.WriteWhole([]string{base + ".svg", base + ".csv"}, func(to []io.Writer) error {
			if err := r.Chart.Render(to[0], plotting.SVG); err != nil {
				return err
			}
			return r.WriteCSV(to[1])
		})
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		if _, err := io.WriteString(a.Out, figureText(report.NewPaint(a.Out), f, r, base)); err != nil {
			return err
		}
	}
	return nil
}

// figureText describes a figure and its results.
func figureText(p report.Paint, f *figures.Figure, r *figures.Result, base string) string {
	var b strings.Builder
	b.WriteString(p.Bold(f.Name) + "  " + f.Title + "\n")
	b.WriteString(report.Wrapped(report.Label("paper"), f.Paper))
	for _, c := range r.Claims {
		verdict := p.Bad("differs")
		if c.Holds {
			verdict = p.Good("holds")
		}
		b.WriteString(report.Wrapped(report.Label(""), fmt.Sprintf("%s: %s: %s", verdict, c.What, c.Here)))
	}
	for _, n := range r.Published {
		b.WriteString(report.Wrapped(report.Label(""), fmt.Sprintf("%s: %s in the paper, %s here (%s)", n.What, digits(n.Paper), digits(n.Here), n.Unit)))
	}
	for _, n := range r.Notes {
		b.WriteString(report.Wrapped(report.Label("note"), n))
	}
	fmt.Fprintf(&b, "%s%s.svg, %s.csv\n", report.Label("files"), base, base)
	return b.String()
}

// digits formats x with the digits that matter. Whole numbers have all digits.
func digits(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
