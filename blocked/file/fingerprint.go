package file

import (
	"bufio"
	"fmt"
	"hash"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
)

// sampled is the least number of tiles that [Fingerprint] fetches of a distributed matrix with more than
// 23 tiles. It fetches every (tiles/sampled)-th tile, so up to half as many more.
const sampled = 12

// Fingerprint returns a number that depends on the shape, the kind, the tile size and every stored
// element of a. It consists of two CRC-32C. If a is distributed and has more than 23 tiles, Fingerprint
// fetches only 12 to 18 of them, and depends on no elements of the others. Different matrices may have
// the same fingerprint, but only by bad luck. Fingerprint protects against mistakes, not against intent.
func Fingerprint[T blocked.Element](a *blocked.Matrix[T]) uint64 {
	m, n := a.Dims()
	sums := [2]hash.Hash32{castagnoli(), castagnoli()}
	var w [2]*bufio.Writer
	for i := range w {
		w[i] = bufio.NewWriterSize(sums[i], fileBuffer)
	}
	fmt.Fprint(w[0], typeName[T](), a.Kind(), m, n, a.NB())
	uplo := a.Kind().Uplo()
	every, k := 1, 0
	if a.IsDistributed() {
		tiles := 0
		for range a.StoredTiles() {
			tiles++
		}
		every = max(1, tiles/sampled)
	}
	for i, j := range a.StoredTiles() {
		if k++; (k-1)%every != 0 {
			continue
		}
		t := a.Read(i, j)
		for r := range t.Rows {
			lo, hi := 0, t.Cols
			switch { // elements of the other triangle have no meaning
			case i == j && uplo == blas.Lower:
				hi = r + 1
			case i == j && uplo == blas.Upper:
				lo = r
			}
			writeElements(w[(i+j)%2], t.Row(r)[lo:hi]) // sums do not fail
		}
	}
	w[0].Flush()
	w[1].Flush()
	return uint64(sums[0].Sum32())<<32 | uint64(sums[1].Sum32())
}
