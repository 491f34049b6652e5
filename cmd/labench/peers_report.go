package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/peers"
	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// peersReport writes comparisons as they come.
type peersReport interface {
	begin(library cpu.BLASInfo, p *peersPlan, rates map[typeName]peak.Rate) error
	row(peers.Result) error
}

// peersJSON writes one object per line.
type peersJSON struct{ w io.Writer }

func (j peersJSON) begin(cpu.BLASInfo, *peersPlan, map[typeName]peak.Rate) error { return nil }
func (j peersJSON) row(r peers.Result) error                                     { return json.NewEncoder(j.w).Encode(r) }

// peersTable writes a table of 80 columns.
type peersTable struct{ w io.Writer }

func (t peersTable) begin(library cpu.BLASInfo, p *peersPlan, rates map[typeName]peak.Rate) error {
	var b strings.Builder
	kernels := ""
	if library.Core != "" {
		kernels = ", kernels for " + library.Core
	}
	fmt.Fprintf(&b, "%s%s\n", library.Name, kernels)
	b.WriteString(wrapped("  ", library.Config))
	b.WriteString(wrapped("", topo.Detect().String()))
	fmt.Fprintf(&b, "ours: %d workers with one BLAS thread each; %s: %d threads\n", p.config.Workers, library.Name, p.config.Workers)
	for _, typ := range p.types {
		r := rates[typ]
		fmt.Fprintf(&b, "FMA peak %s: %.1f GFLOP/s one core, %.1f on %d (%v)\n", typ, r.One, r.All, r.Cores, r.ISA)
	}
	fmt.Fprintf(&b, "GFLOP/s, best and median of %d turns each; ratio = ours/%s\n\n", p.config.Repeat, library.Name)
	fmt.Fprintf(&b, peersLayout, "op", "", "n", "nb", "ours", "median", "peer", "median", "ratio")
	_, err := io.WriteString(t.w, b.String())
	return err
}

const peersLayout = "%-9s %3s %9s %4s %6s %6s %6s %6s %6s\n"

func (t peersTable) row(r peers.Result) error {
	rate := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	row := fmt.Sprintf(peersLayout, r.Op, r.Type, r.Size().String(), fmt.Sprint(r.NB), rate(r.Ours.GFLOPSBest), rate(r.Ours.GFLOPSMedian),
		rate(r.Peer.GFLOPSBest), rate(r.Peer.GFLOPSMedian), fmt.Sprintf("%.3f", r.RatioBest))
	_, err := fmt.Fprintln(t.w, strings.TrimRight(row, " \n"))
	if err == nil && !r.Passed {
		_, err = fmt.Fprintf(t.w, "  ! wrong result: residual %.3g of ours, %.3g of the peer's\n", r.Ours.Residual, r.Peer.Residual)
	}
	return err
}
