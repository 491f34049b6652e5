package report

import (
	"fmt"
	"math"
	"slices"
)

// Bytes formats n bytes: "128 MiB".
func Bytes(n float64) string {
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if n < 10 && i > 0 {
		return fmt.Sprintf("%.1f %s", n, units[i])
	}
	return fmt.Sprintf("%.0f %s", n, units[i])
}

var units = [...]string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// BytesLike returns a function that formats the byte counts of one column alike. The unit suits the largest of
// all, or is the next smaller one if small counts would show no digits.
func BytesLike(all ...int64) func(int64) string {
	top, i := float64(slices.Max(all)), 0
	least := top
	for _, n := range all {
		if n > 0 {
			least = min(least, float64(n))
		}
	}
	for (top > 9999 || top >= 1024 && least >= 1024) && i < len(units)-1 {
		top, least, i = top/1024, least/1024, i+1
	}
	places, unit := 0, units[i]
	if i == 0 {
		unit = "B"
	} else if top < 100 {
		places = 1
	}
	return func(n int64) string {
		return fmt.Sprintf("%.*f %s", places, float64(n)/math.Pow(1024, float64(i)), unit)
	}
}
