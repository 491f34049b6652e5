package la

import (
	"math"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/la/engine"

	"github.com/tessera-la/tessera/internal/words"
)

// Pivoting is how the factorization of an [LU] finds its pivots.
type Pivoting uint8

// The pivotings.
const (
	// PartialPivoting takes the largest element of the column, as LAPACK does. But for rounding the
	// pivots, L and U are LAPACK's.
	PartialPivoting Pivoting = iota
	// TournamentPivoting lets several tiles of a panel propose pivot rows at once, which then play a
	// tournament. It is about as stable in practice. If a panel has too few independent rows, the
	// factorization starts again with partial pivoting.
	TournamentPivoting
	// TilePivoting takes pivots from the diagonal tile only, as the block algorithm of Amela et al.
	// (2018) does. It exchanges no rows between tiles, and breaks down if a diagonal tile is
	// singular, whatever the condition of the matrix.
	TilePivoting
)

var pivotings = words.Of[Pivoting]{"partial", "tournament", "tile"}

// String returns the name that Set reads.
func (p Pivoting) String() string { return pivotings.Name(p) }

// Set sets p to the pivoting with the given name: partial, tournament or tile. The error for any other name lists
// these.
func (p *Pivoting) Set(name string) error { return setName(p, pivotings, name, "pivoting") }

// OnBreakdown is what Factorize does when tile pivoting breaks down.
type OnBreakdown uint8

// The consequences.
const (
	// ReturnError makes Factorize return a *BreakdownError.
	ReturnError OnBreakdown = iota
	// FallBack makes Factorize start again with partial pivoting.
	FallBack
)

var consequences = words.Of[OnBreakdown]{"error", "fallback"}

// String returns the name that Set reads.
func (b OnBreakdown) String() string { return consequences.Name(b) }

// Set sets b to the OnBreakdown with the given name: error or fallback. The error for any other name lists these.
func (b *OnBreakdown) Set(name string) error {
	return setName(b, consequences, name, "consequence of a breakdown")
}

// LUOptions configures an [LU]. The zero value pivots partially.
type LUOptions struct {
	Pivoting Pivoting
	// OnBreakdown is for TilePivoting.
	OnBreakdown OnBreakdown
	// GrowthLimit is the growth from which a factorization without partial pivoting counts as broken
	// down; 0 means 100·max(m, n), below which the residual ‖P·L·U−A‖/(n‖A‖ε) of random matrices
	// stays below 30, LAPACK's limit. Growth is here the largest product of a magnitude in column
	// block k of L with one in row block k of U, for any k, divided by the largest magnitude in A. It
	// includes L, whose elements these pivotings do not bound by 1.
	GrowthLimit float64
}

// Validate returns an *OptionsError that lists everything that is wrong with o, or nil.
func (o *LUOptions) Validate() error {
	var bad problems.List
	bad.Check(int(o.Pivoting) < len(pivotings), "Pivoting is %v, want one of %s", o.Pivoting,
		strings.Join(pivotings, ", "))
	bad.Check(int(o.OnBreakdown) < len(consequences), "OnBreakdown is %v, want one of %s", o.OnBreakdown,
		strings.Join(consequences, ", "))
	bad.Check(o.GrowthLimit == 0 || o.GrowthLimit >= 1 && o.GrowthLimit <= math.MaxFloat64,
		"GrowthLimit is %v, want 0 or a number from 1", o.GrowthLimit)
	return engine.ErrorOf(bad)
}
