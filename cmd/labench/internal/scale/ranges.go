package scale

import (
	"strings"

	"github.com/tessera-la/tessera/internal/cli"
)

// parseRanges parses a list of numbers as cli.ParseInts does. The step of a range may be omitted; it is 1
// then. The error is a *cli.ListError.
func parseRanges(flag, list string) ([]int, error) {
	elements := strings.Split(list, ",")
	for i, e := range elements {
		if strings.Count(e, ":") == 1 {
			elements[i] += ":1"
		}
	}
	return cli.ParseInts(flag, strings.Join(elements, ","), nil)
}

// doublings returns 1, 2, 4 … and n.
func doublings(n int) []int {
	var all []int
	for w := 1; w < n; w *= 2 {
		all = append(all, w)
	}
	return append(all, n)
}
