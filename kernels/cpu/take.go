package cpu

// take returns the first n elements of scratch, and leaves the rest in work.
func take[T Element](work *[]T, n int) []T {
	x := (*work)[:n:n]
	*work = (*work)[n:]
	return x
}
