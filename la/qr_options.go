package la

import (
	"math"
	"strings"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked"
)

// Tree is the order in which a [QR] annihilates the tiles of a column. The
// result is as accurate with all of them.
type Tree = blocked.Tree

// The trees, of which blocked has pictures.
const (
	TreeAuto    = blocked.TreeAuto    // by the shape of the matrix and the number of workers
	TreeFlat    = blocked.TreeFlat    // one tile after the other
	TreeBinary  = blocked.TreeBinary  // in pairs
	TreeGreedy  = blocked.TreeGreedy  // as many as possible as soon as possible
	TreeDomains = blocked.TreeDomains // flat in domains, which are joined in pairs
)

// Trees returns all trees.
func Trees() []Tree { return blocked.Trees() }

// ParseTree returns the tree that is called name: auto, flat, binary, greedy or
// domains. The error for any other name lists those that are known.
func ParseTree(name string) (Tree, error) { return blocked.ParseTree(name) }

// QRVariant says in what form a [QR] keeps and applies the rotations that its
// orthogonal factor is a product of.
type QRVariant uint8

// The variants. Flops are those of a square matrix of many tiles, to leading
// order.
const (
	// CompactQR keeps a rotation as the block reflector I − V·T·Vᵀ: 4/3·n³ flops
	// for R, and as many again for the one who asks for Q.
	CompactQR QRVariant = iota
	// DenseQR is the algorithm of Amela et al. (2018) for comparison: a rotation
	// is a dense matrix of twice the tile size, and Q is computed with R, by
	// products of dense tiles: 20/3·n³ flops.
	DenseQR
	// MemorySaveQR is their second version: as DenseQR, but tiles of Q that are
	// zero or the identity are neither stored nor multiplied by: 16/3·n³ flops.
	MemorySaveQR
)

// qrVariants are the names of the variants.
func qrVariants() []string { return []string{"compact", "dense", "memory-save"} }

// String returns the name that [ParseQRVariant] reads.
func (v QRVariant) String() string { return nameOf(qrVariants(), uint8(v), "QRVariant") }

// ParseQRVariant returns the variant that is called name: compact, dense or
// memory-save. The error for any other name lists those that are known.
func ParseQRVariant(name string) (QRVariant, error) {
	i, err := parseName(qrVariants(), name, "QR variant")
	return QRVariant(i), err
}

// QROptions configures a [QR]. The zero value lets everything be chosen.
type QROptions struct {
	// Tree is the order in which tiles are annihilated. The explicit variants
	// have only one, which both TreeAuto and TreeFlat stand for.
	Tree Tree
	// Domain is the number of tiles in a domain of TreeDomains; 0 means one
	// domain of the first column for each worker.
	Domain int
	// InnerBlock is the number of columns of a block reflector; 0 means
	// blocked.DefaultIB. A larger one makes more of the work products of
	// matrices, and more work.
	InnerBlock int
	// TileSize is the tile size; 0 means Options.NB, or else one chosen by the
	// shape. A matrix that is larger is not given to one kernel.
	TileSize int
	// Variant is the form of the rotations. A matrix that is given to one kernel
	// has none, and is factored as by CompactQR.
	Variant QRVariant
}

// Validate returns an *OptionsError that lists everything that is wrong with o,
// or nil.
func (o *QROptions) Validate() error {
	var bad problems
	bad.check(int(o.Tree) < len(Trees()), "Tree is %v, want one of %v", o.Tree, Trees())
	bad.check(o.Domain >= 0, "Domain is %d, want at least 0", o.Domain)
	bad.check(o.Domain <= 0 || o.Tree == TreeDomains, "Domain is %d, which %v does not have", o.Domain, o.Tree)
	bad.check(o.InnerBlock >= 0, "InnerBlock is %d, want at least 0", o.InnerBlock)
	bad.check(o.TileSize >= 0 && o.TileSize <= maxNB, "TileSize is %d, want 0 to %d", o.TileSize, maxNB)
	if int(o.Variant) >= len(qrVariants()) {
		bad.add("Variant is %v, want one of %s", o.Variant, strings.Join(qrVariants(), ", "))
	} else {
		bad.check(o.Variant == CompactQR || o.Tree == TreeAuto || o.Tree == TreeFlat, "Tree is %v, and variant %v has only %v", o.Tree, o.Variant, TreeFlat)
	}
	return bad.err()
}

// rotations returns the options of the tile algorithm.
func (o *QROptions) rotations(e *Engine) blocked.RotationOptions {
	r := blocked.RotationOptions{Tree: o.Tree, Domain: o.Domain, IB: o.InnerBlock, Cores: e.cores()}
	if o.Variant != CompactQR {
		r.Tree = TreeFlat
	}
	return r
}

// qrTileSize returns the tile size for the QR factorization of an m×n matrix on
// e, and whether it goes to one kernel as a whole.
func qrTileSize[T Element](e *Engine, o *QROptions, m, n int) (nb int, direct bool) {
	longest := max(1, m, n)
	forced := o.TileSize
	if forced == 0 {
		forced = e.options().NB
	}
	if goesDirect[T](e, OpQR, longest) && (o.TileSize == 0 || longest <= o.TileSize) {
		return longest, true
	}
	if forced > 0 {
		return forced, false
	}
	nb, short := tileSize[T](e, OpQR, geometric(m, n)), max(1, min(m, n))
	if short >= nb {
		return evenly(short, tiles.Count(short, nb)), false
	}
	// A tile of a narrow matrix is no wider than that. It gets as many elements
	// by being longer, as long as there are some for each worker.
	long := min(nb*nb/short, longest/(2*max(1, e.cores())))
	return min(max(nb, evenly(longest, tiles.Count(longest, max(1, long)))), maxNB), false
}

// QRFlops is the floating-point operations of a QR factorization.
type QRFlops struct {
	// Standard is 2·m·n² − 2/3·n³ for m ≥ n, by which the speed of all variants
	// is counted: what Householder's method takes for R.
	Standard float64
	// Performed is what the variant takes in its kernels, without what the block
	// reflectors cost: for R, and for Q if the variant computes it.
	Performed float64
}

// logAbs returns the logarithm of the magnitude of x.
func logAbs[T Element](x T) float64 { return math.Log(math.Abs(float64(x))) }
