package transpose

import "testing"

// TestCopy: shapes around the blocks, in larger rows; nothing beside them is written.
func TestCopy(t *testing.T) {
	for rows := range 19 {
		for cols := range 10 {
			ld, ss := cols+2, rows+3
			src, dst := make([]int32, max(cols, 1)*ss), make([]int32, max(rows, 1)*ld)
			for k := range src {
				src[k] = int32(k + 1)
			}
			Copy(dst, ld, src, ss, rows, cols)
			for k, got := range dst {
				r, c, want := k/ld, k%ld, int32(0)
				if r < rows && c < cols {
					want = src[c*ss+r]
				}
				if got != want {
					t.Fatalf("%d×%d: element (%d, %d) is %d, want %d", rows, cols, r, c, got, want)
				}
			}
		}
	}
}
