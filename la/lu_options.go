package la

import (
	"fmt"
	"math"
	"strings"
)

// Pivoting says how the factorization of an [LU] finds its pivots.
type Pivoting uint8

// The pivotings.
const (
	// PartialPivoting takes the largest element of the column, as LAPACK does:
	// the same pivots, L and U but for rounding.
	PartialPivoting Pivoting = iota
	// TournamentPivoting lets the tiles of a panel play out among themselves
	// which rows become pivots, several tiles at once. It is about as stable in
	// practice. A panel that has too few independent rows makes the
	// factorization start anew with partial pivoting.
	TournamentPivoting
	// TilePivoting looks for pivots in the diagonal tile only, as the block
	// algorithm of Amela et al. (2018) does: nothing is exchanged between
	// tiles, and it breaks down where a diagonal tile is singular, whatever the
	// matrix is.
	TilePivoting
)

// pivotings are the names of the pivotings.
func pivotings() []string { return []string{"partial", "tournament", "tile"} }

// String returns the name that [ParsePivoting] reads.
func (p Pivoting) String() string { return nameOf(pivotings(), uint8(p), "Pivoting") }

// ParsePivoting returns the pivoting that is called name: partial, tournament
// or tile. The error for any other name lists those that are known.
func ParsePivoting(name string) (Pivoting, error) {
	i, err := parseName(pivotings(), name, "pivoting")
	return Pivoting(i), err
}

// OnBreakdown says what follows when tile pivoting has broken down.
type OnBreakdown uint8

// The consequences.
const (
	// ReturnError makes Factorize return a *BreakdownError.
	ReturnError OnBreakdown = iota
	// FallBack makes Factorize start anew with partial pivoting.
	FallBack
)

// consequences are the names of the values of OnBreakdown.
func consequences() []string { return []string{"error", "fallback"} }

// String returns the name that [ParseOnBreakdown] reads.
func (b OnBreakdown) String() string { return nameOf(consequences(), uint8(b), "OnBreakdown") }

// ParseOnBreakdown returns the consequence that is called name: error or
// fallback. The error for any other name lists those that are known.
func ParseOnBreakdown(name string) (OnBreakdown, error) {
	i, err := parseName(consequences(), name, "consequence of a breakdown")
	return OnBreakdown(i), err
}

// nameOf returns name i, or what stands for a value that has none.
func nameOf(names []string, i uint8, typ string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", typ, i)
}

// parseName returns the index of name among names, in upper or lower case.
func parseName(names []string, name, what string) (int, error) {
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("la: unknown %s %q; known are %s", what, name, strings.Join(names, ", "))
}

// LUOptions configures an [LU]. The zero value pivots partially.
type LUOptions struct {
	Pivoting Pivoting
	// OnBreakdown is for TilePivoting.
	OnBreakdown OnBreakdown
	// GrowthLimit is the growth from which a factorization that does not pivot
	// partially counts as broken down; 0 means 100·max(m, n), up to which the
	// residual ‖P·L·U−A‖/(n‖A‖ε) of random matrices stayed below 30, LAPACK's
	// limit. Growth is here the largest product of a magnitude in column block
	// k of L with one in row block k of U, for any k, divided by the largest
	// magnitude in A: L counts too, for it is not bounded by 1.
	GrowthLimit float64
}

// Validate returns an *OptionsError that lists everything that is wrong with o,
// or nil.
func (o *LUOptions) Validate() error {
	var bad problems
	bad.check(int(o.Pivoting) < len(pivotings()), "Pivoting is %v, want one of %s", o.Pivoting, strings.Join(pivotings(), ", "))
	bad.check(int(o.OnBreakdown) < len(consequences()), "OnBreakdown is %v, want one of %s", o.OnBreakdown, strings.Join(consequences(), ", "))
	bad.check(o.GrowthLimit == 0 || o.GrowthLimit >= 1 && o.GrowthLimit <= math.MaxFloat64, "GrowthLimit is %v, want 0 or a number from 1", o.GrowthLimit)
	return bad.err()
}
