package csr

import "github.com/tessera-la/tessera/kernels"

// column returns x as a tile of one column.
func column(x []float64) *tile { return &tile{Rows: len(x), Cols: 1, Stride: 1, Data: x} }

// tile is a dense operand of a product.
type tile = kernels.Tile[float64]
