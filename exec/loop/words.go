package loop

import "fmt"

// word returns the name of x, which is one of n values.
func word[E ~uint8](x E, n int, name func(E) string) string {
	if int(x) < n {
		return name(x)
	}
	return fmt.Sprintf("%T(%d)", x, uint8(x))
}
