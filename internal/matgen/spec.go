package matgen

// Spec names one matrix.
type Spec struct {
	Kind Kind
	M, N int // rows and columns; equal where Kind.Square
	// Seed of the random kinds; any value, zero included.
	Seed uint64
	// Cond is the condition number of Cond and SPDCond, at least 1; 0 means
	// 10⁴.
	Cond float64
	// Minor is the order of the minor that fails in Indefinite, from 1 to N;
	// 0 means N.
	Minor int
	// NB is the tile size of the kinds with a special tile; 0 means 64.
	NB int
	// TileRow and TileCol are the indices of that tile.
	TileRow, TileCol int
}

func (s *Spec) nb() int {
	if s.NB == 0 {
		return 64
	}
	return s.NB
}

// limits are the machine parameters of the element type that the scaled kinds use (LAPACK's DLAMCH).
type limits struct {
	eps  float64 // relative machine precision: the distance from 1 to the next number
	tiny float64 // DLATB4's SMALL: 1/4 of the smallest normal number over eps
}
