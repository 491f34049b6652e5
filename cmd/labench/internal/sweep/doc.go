// Package sweep walks the combinations of lists: the sizes, workers, tile sizes and so on that a command of labench
// measures or predicts one after the other.
package sweep
