// The chart of the README: reads what compare prints for operations of one size and writes
// bars as an SVG file.
//
//	make bench-libraries PEERS="gonum openblas mkl" SIZES=2048 | tee out
//	go run ./cmd/labench/testdata/libraries/chart.go "two cores of an EPYC (Zen 5)" <out >docs/images/libraries.svg
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// peer is one kind of bar. The best of the names that compare prints counts.
type peer struct {
	names []string
	label string
	color string
	ink   string
}

func main() {
	peers := []peer{
		{[]string{"ours"}, "Tessera", "#1a7f6b", "#333"},
		{[]string{"mkl", "mkl-intel"}, "MKL", "#7a8a99", "#333"},
		{[]string{"openblas"}, "OpenBLAS", "#a9b5bf", "#333"},
		{[]string{"gonum"}, "gonum", "#d98c3f", "#333"},
	}
	titles := map[string]string{"gemm": "product", "cholesky": "Cholesky", "lu": "LU", "qr": "QR"}
	line := regexp.MustCompile(`^(\w+) (f\d+) (\d+): peak (\d+);`)
	rate := regexp.MustCompile(` ([a-z-]+) (\d+), (\d+);`)
	var ops, size []string
	var peak float64
	rates := map[string]map[string]float64{} // op, name: the median
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if v, ok := strings.CutPrefix(in.Text(), "version: "); ok {
			name, version, _ := strings.Cut(v, " ")
			for i, p := range peers {
				if p.names[0] == name {
					peers[i].label += " " + version
				}
			}
		}
		head := line.FindStringSubmatch(in.Text())
		if head == nil {
			continue
		}
		op := head[1]
		ops, size = append(ops, op), head[2:4]
		peak = max(peak, number(head[4]))
		rates[op] = map[string]float64{}
		for _, r := range rate.FindAllStringSubmatch(in.Text(), -1) {
			rates[op][r[1]] = number(r[3])
		}
	}
	if len(ops) == 0 || len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, `usage: chart MACHINE <output of make bench-libraries, one size`)
		os.Exit(2)
	}
	const width, base, height, left = 720.0, 254.0, 220.0, 54.0
	step := 25.0
	for step*6 < peak {
		step *= 2
	}
	y := func(v float64) float64 { return base - v/peak*height }
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g 320" font-family="sans-serif" font-size="13">`+"\n", width)
	fmt.Printf(`<title>GFLOP/s of Tessera, MKL, OpenBLAS and gonum at n = %s on %s</title>`+"\n", size[1], os.Args[1])
	fmt.Printf(`<rect width="%g" height="320" fill="#ffffff"/>`+"\n", width)
	for v := 0.0; v <= peak; v += step {
		fmt.Printf(`<line x1="%g" x2="704" y1="%.1f" y2="%.1f" stroke="#e3e7ea"/><text x="46" y="%.1f" text-anchor="end" fill="#555">%g</text>`+"\n",
			left, y(v), y(v), y(v)+4, v)
	}
	fmt.Printf(`<line x1="%g" x2="704" y1="%.1f" y2="%.1f" stroke="#b0453a" stroke-dasharray="4 3"/>`+"\n", left, y(peak), y(peak))
	fmt.Printf(`<text x="704" y="28" text-anchor="end" fill="#b0453a" font-size="12">measured peak of both cores: %.0f</text>`+"\n", peak)
	fmt.Printf(`<text x="14" y="18" fill="#333">GFLOP/s, %s, n = %s</text>`+"\n", map[string]string{"f64": "float64", "f32": "float32"}[size[0]], size[1])
	group := (704 - left) / float64(len(ops))
	bar := group / (float64(len(peers)) + 0.9)
	for i, op := range ops {
		x := left + float64(i)*group + bar*0.45
		for j, p := range peers {
			var v float64
			for _, name := range p.names {
				v = max(v, rates[op][name])
			}
			if v == 0 {
				continue
			}
			at := x + float64(j)*bar
			fmt.Printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/><text x="%.1f" y="%.1f" text-anchor="middle" font-size="12" fill="%s">%.0f</text>`+"\n",
				at, y(v), bar-4, base-y(v), p.color, at+bar/2-2, y(v)-4, p.ink, v)
		}
		title := titles[op]
		if title == "" {
			title = op
		}
		fmt.Printf(`<text x="%.1f" y="274" text-anchor="middle" fill="#333">%s</text>`+"\n", left+(float64(i)+0.5)*group, title)
	}
	at := left
	for _, p := range peers {
		fmt.Printf(`<rect x="%.0f" y="294" width="12" height="12" fill="%s"/><text x="%.0f" y="305" fill="#333">%s</text>`+"\n", at, p.color, at+18, p.label)
		at += 44 + 8*float64(len(p.label))
	}
	fmt.Println("</svg>")
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}
