package pages_test

import (
	"testing"

	"github.com/tessera-la/tessera/internal/pages"
)

// TestRenew: memory is zero or as it was after it has been given back, what is not a whole page
// keeps its values, and it can be written.
func TestRenew(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 3 << 12, 100_000} {
		memory := make([]byte, size+64)
		for i := range memory {
			memory[i] = 1
		}
		pages.Renew(memory[32 : 32+size])
		for i, v := range memory {
			if outside := i < 32 || i >= 32+size; v > 1 || outside && v != 1 {
				t.Fatalf("%d bytes: byte %d is %d", size, i, v)
			}
		}
		for i := range memory {
			memory[i] = 2
		}
	}
}
