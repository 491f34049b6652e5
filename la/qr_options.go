package la

import (
	"math"
	"strings"

	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/la/engine"
)

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

var qrVariants = words.Of[QRVariant]{"compact", "dense", "memory-save"}

// String returns the name that Set reads.
func (v QRVariant) String() string { return qrVariants.Name(v) }

// Set sets v to the variant with the given name: compact, dense or memory-save. The error for any other name lists
// these.
func (v *QRVariant) Set(name string) error { return setName(v, qrVariants, name, "QR variant") }

// QROptions configures a [QR]. The zero value chooses everything.
type QROptions struct {
	// Tree is the order in which the tiles of a column are eliminated. All are equally accurate, and package
	// blocked/qr has pictures of them. The explicit variants have only TreeFlat; for
	// them TreeAuto means that.
	Tree qr.Tree
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
	var bad problems.List
	bad.Check(int(o.Tree) < len(qr.Trees()), "Tree is %v, want one of %v", o.Tree, qr.Trees())
	bad.Check(o.Domain >= 0, "Domain is %d, want at least 0", o.Domain)
	bad.Check(o.Domain <= 0 || o.Tree == qr.TreeDomains, "Domain is %d, which %v does not have", o.Domain, o.Tree)
	bad.Check(o.InnerBlock >= 0, "InnerBlock is %d, want at least 0", o.InnerBlock)
	bad.Check(o.TileSize >= 0 && o.TileSize <= engine.MaxTileSize, "TileSize is %d, want 0 to %d", o.TileSize, engine.MaxTileSize)
	if int(o.Variant) >= len(qrVariants) {
		bad.Add("Variant is %v, want one of %s", o.Variant, strings.Join(qrVariants, ", "))
	} else {
		bad.Check(o.Variant == CompactQR || o.Tree == qr.TreeAuto || o.Tree == qr.TreeFlat,
			"Tree is %v, and variant %v has only %v", o.Tree, o.Variant, qr.TreeFlat)
	}
	return engine.ErrorOf(bad)
}

// rotations returns the options of the tile algorithm.
func (o *QROptions) rotations(e *Engine) qr.RotationOptions {
	r := qr.RotationOptions{Tree: o.Tree, Domain: o.Domain, IB: o.InnerBlock, Cores: e.Cores()}
	if o.Variant != CompactQR {
		r.Tree = qr.TreeFlat
	}
	return r
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
