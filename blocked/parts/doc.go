// Package parts divides data into partitions by where they lie: the rows of a matrix, its tiles, or
// elements of a program's slices.
//
// [Split] groups the blocks of a [Collection] by their places, for loops over their items: see
// [Partitions]. [Materialize] and methods of the collections copy them into new blocks.
package parts
