// Package vector is what iterative methods do with vectors, which may be in parts on several nodes:
// the bits do not depend on how they are cut.
//
// So a dot product is a sum of chunks, in an order that is fixed by the numbers that the elements
// have in the whole vector:
//
//	elements  0 … 63   64 … 127  128 … 191  192 … 255  256 … 319  320 …
//	             └──── + ────┘        └──── + ────┘         └──── + ────┘
//	                   └────────── + ───────┘                     │
//	                               └───────────── + ──────────────┘
//
// [Part] computes what one part of the vectors contributes to that tree: the sums of the largest
// subtrees that lie within it, some dozen numbers, and the products of the elements at its ends whose
// chunks do not. [Sum] takes these one part after the other.
package vector
