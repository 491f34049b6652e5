package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// GetrfTournament submits the LU factorization with tournament pivoting of the
// m×n matrix A,
//
//	A = P·L·U,
//
// stored as [Getrf] stores it. A tournament selects the pivot rows of a panel: one
// task for at most four tiles selects the candidates of these tiles, and further
// tasks select the better half of two sets of candidates:
//
//	tntleaf  tntleaf  tntleaf      candidates: the pivot rows of four tiles each
//	     └──┬──┘         │
//	     tntnode         │         the pivot rows of two sets of candidates
//	        └─────┬──────┘
//	           tntnode
//	           tntroot             the interchanges that bring the winners to the top
//
// The panel is then factored without further exchanges: laswp, getrfnp on the
// top tile, and trsm on the other tiles, all of which may run at once. A panel of
// at most four tiles is factored in one task, as with partial pivoting.
//
// The elements of L are not bounded by 1, as they are with partial pivoting, but
// they are small as a rule. If a panel has no nonzero pivot left, the factors hold
// infinities or NaN, [Pivots.Info] is not 0, and A has to be factored in another
// way. In the last panels, which are one task each, Info may also mean what it
// means for Getrf.
//
// It panics as Getrf does.
//
// Reference: L. Grigori, J. W. Demmel and H. Xiang, "CALU: a communication
// optimal LU factorization algorithm", SIAM J. Matrix Anal. Appl. 32 (2011).
func GetrfTournament[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots) error {
	return GetrfTournamentSteps(p, a, v, 0, len(v.panels))
}

// GetrfTournamentSteps submits the steps from, …, to-1 of [GetrfTournament], as
// [GetrfSteps] does for Getrf.
func GetrfTournamentSteps[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots, from, to int) error {
	tasks := submit.Of(p)
	f := newGetrf(tasks, a, v)
	if from < 0 || to < from || to > f.steps {
		panic(blocked.ErrIndex)
	}
	t := newTournament(f)
	for k := from; k < to && tasks.Err == nil; k++ {
		if a.MT()-k <= TournamentTiles {
			f.panel(k)
		} else {
			t.panel(k)
		}
		f.update(k, a.MT())
	}
	return tasks.Err
}

// TournamentTiles is the number of tiles from which one tntleaf selects candidates. With
// four tiles it takes 11/3·nb³ flops, about nb³ for each tile, as many as the trsm that
// computes L from the tile. A tntnode takes 5/3·nb³, and each round has half as many
// sets of candidates as the one before.
const TournamentTiles = 4

// tournament holds the data of the tournaments of one factorization.
type tournament[T blocked.Element] struct {
	*getrf[T]
	winners []graph.Datum // *kernels.Candidates of each leaf
	ignored *graph.Datum  // *kernels.Pivots of getrfnp
	node    *op.Tntnode
	right   *op.Trsm[T]
}

func newTournament[T blocked.Element](f *getrf[T]) *tournament[T] {
	t := &tournament[T]{getrf: f, node: &op.Tntnode{}, right: rightUpper[T](), ignored: f.Datum("ignored", new(kernels.Pivots))}
	if f.a.MT() > TournamentTiles {
		t.winners = f.NewData("winners", tiles.Count(f.a.MT(), TournamentTiles), 1, func(l, _ int) (versions.Value, int) {
			return kernels.NewCandidates[T](TournamentTiles*f.a.NB(), min(f.a.NB(), f.a.Cols())), f.a.NearestOwner(l*TournamentTiles, 0)
		})
		for l := range t.winners { // the size of the candidates that a task leaves
			nb := int64(min(f.a.NB(), f.a.Cols()))
			t.winners[l].Bytes = nb * nb * int64(scalar.Size[T]())
		}
	}
	return t
}

// rightUpper returns the parameter of trsm for A(i,k)·U(k,k)⁻¹.
func rightUpper[T kernels.Element]() *op.Trsm[T] {
	return &op.Trsm[T]{Side: blas.Right, Uplo: blas.Upper, Trans: blas.NoTrans, Diag: blas.NonUnit, Alpha: 1}
}

// panel submits the factorization of panel k.
func (t *tournament[T]) panel(k int) {
	a, priority := t.a, t.priority.panel(k)
	leaves := tiles.Count(a.MT()-k, TournamentTiles)
	for l := range leaves {
		top := k + l*TournamentTiles
		t.Operands = t.Operands[:0]
		for i := top; i < min(top+TournamentTiles, a.MT()); i++ {
			t.Operands = append(t.Operands, submit.In(a.Tile(i, k)))
		}
		t.Operands = append(t.Operands, submit.Out(&t.winners[l]))
		t.Submit(t.Op("tntleaf"), &op.Tntleaf{Row: l * TournamentTiles * a.NB()}, priority, t.Operands...)
	}
	for step := 1; step < leaves; step *= 2 {
		for l := 0; l+step < leaves; l += 2 * step {
			t.Submit(t.Op("tntnode"), t.node, priority, submit.InOut(&t.winners[l]), submit.InOut(&t.winners[l+step]))
		}
	}
	t.Submit(t.Op("tntroot"), &op.Tntroot{Offset: k * a.NB()}, priority, submit.In(&t.winners[0]), submit.Out(&t.pivots[k]))
	t.exchange(k, k, a.MT(), priority)
	t.Submit(t.Op("getrfnp"), &op.Getrfnp{}, priority, submit.InOut(a.Tile(k, k)), submit.Out(t.ignored))
	t.divide(k, t.right)
}

// divide submits L(i,k) = A(i,k)·U(k,k)⁻¹ for i > k.
func (f *getrf[T]) divide(k int, right *op.Trsm[T]) {
	for i := k + 1; i < f.a.MT(); i++ {
		f.Submit(f.Op("trsm"), right, f.priority.panel(k), submit.In(f.a.Tile(k, k)), submit.InOut(f.a.Tile(i, k)))
	}
}
