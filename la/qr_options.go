package la

import (
	"math"
	"strings"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// Tree is the order in which a [QR] eliminates the tiles of a column. All trees are equally
// accurate.
type Tree = qr.Tree

// The trees; package blocked has pictures of them.
const (
	TreeAuto    = qr.TreeAuto    // by the shape of the matrix and the number of workers
	TreeFlat    = qr.TreeFlat    // one tile after the other
	TreeBinary  = qr.TreeBinary  // in pairs
	TreeGreedy  = qr.TreeGreedy  // as many as possible as soon as possible
	TreeDomains = qr.TreeDomains // flat in domains, which are joined in pairs
)

// Trees returns all trees.
func Trees() []Tree { return qr.Trees() }

// ParseTree returns the tree with the given name: auto, flat, binary, greedy or domains. The
// error for any other name lists these.
func ParseTree(name string) (Tree, error) { return qr.ParseTree(name) }

// QRVariant is the form in which a [QR] keeps and applies the rotations whose product is Q.
type QRVariant uint8

// The variants. Flops are those of a square matrix of many tiles, to leading order.
const (
	// CompactQR keeps a rotation as the block reflector I − V·T·Vᵀ: 4/3·n³ flops for R, and as many
	// again for Q if a caller asks for it.
	CompactQR QRVariant = iota
	// DenseQR is the algorithm of Amela et al. (2018), for comparison: a rotation is a dense matrix
	// of twice the tile size, and products of dense tiles compute Q together with R: 20/3·n³ flops.
	DenseQR
	// MemorySaveQR is their second version. It neither stores nor multiplies tiles of Q that are zero
	// or the identity: 16/3·n³ flops.
	MemorySaveQR
)

func qrVariants() []string { return []string{"compact", "dense", "memory-save"} }

// String returns the name that [ParseQRVariant] reads.
func (v QRVariant) String() string { return nameOf(qrVariants(), uint8(v), "QRVariant") }

// ParseQRVariant returns the variant with the given name: compact, dense or memory-save. The
// error for any other name lists these.
func ParseQRVariant(name string) (QRVariant, error) {
	i, err := parseName(qrVariants(), name, "QR variant")
	return QRVariant(i), err
}

// QROptions configures a [QR]. The zero value chooses everything.
type QROptions struct {
	// Tree is the order in which tiles are eliminated. The explicit variants have only TreeFlat; for
	// them TreeAuto means that.
	Tree Tree
	// Domain is the number of tiles in a domain of TreeDomains; 0 means one
	// domain of the first column for each worker.
	Domain int
	// InnerBlock is the number of columns of a block reflector; 0 means qr.DefaultIB. A larger
	// one increases the work, and the part of it that is matrix products.
	InnerBlock int
	// TileSize is the tile size; 0 means Options.NB or, if that is 0, one chosen by the shape. One
	// kernel never factors a larger matrix than this.
	TileSize int
	// Variant is the form of the rotations. One kernel factors its matrix as CompactQR does.
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
		bad.check(o.Variant == CompactQR || o.Tree == TreeAuto || o.Tree == TreeFlat,
			"Tree is %v, and variant %v has only %v", o.Tree, o.Variant, TreeFlat)
	}
	return bad.err()
}

// rotations returns the options of the tile algorithm.
func (o *QROptions) rotations(e *Engine) qr.RotationOptions {
	r := qr.RotationOptions{Tree: o.Tree, Domain: o.Domain, IB: o.InnerBlock, Cores: e.cores()}
	if o.Variant != CompactQR {
		r.Tree = TreeFlat
	}
	return r
}

// qrTileSize returns the tile size for the QR factorization of an m×n matrix on e, and whether
// one kernel factors it as a whole.
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
		return evenTileSize(short, tiles.Count(short, nb)), false
	}
	// A tile of a narrow matrix is no wider than that. It gets as many elements
	// by being longer, as long as there are some for each worker.
	long := min(nb*nb/short, longest/(2*max(1, e.cores())))
	return min(max(nb, evenTileSize(longest, tiles.Count(longest, max(1, long)))), maxNB), false
}

// QRFlops holds the floating-point operations of a QR factorization.
type QRFlops struct {
	// Standard is 2·m·n² − 2/3·n³ for m ≥ n, the flops of Householder's method for R. The speed of
	// all variants is reported in these.
	Standard float64
	// Performed is the flops of the variant's kernels, without those for the block reflectors: for R,
	// and for Q if the variant computes it.
	Performed float64
}

// logAbs returns the logarithm of the magnitude of x.
func logAbs[T Element](x T) float64 { return math.Log(math.Abs(float64(x))) }
