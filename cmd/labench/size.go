package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
)

// size is a flag for a number of bytes.
type size int64

// Set implements [pflag.Value].
func (s *size) Set(text string) error {
	digits := strings.TrimRight(text, "KMGTiB")
	scale, ok := map[string]float64{"": 1, "B": 1, "K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "TiB": 1 << 40}[text[len(digits):]]
	x, err := strconv.ParseFloat(strings.TrimSuffix(digits, " "), 64) // as String writes it
	if x *= scale; !ok || err != nil || !(x >= 1 && x < math.MaxInt64) {
		return fmt.Errorf("want a number of bytes, as in 1.5GiB or 800MiB")
	}
	*s = size(x)
	return nil
}

// String implements [pflag.Value].
func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return bench.Bytes(float64(*s))
}

// Type implements [pflag.Value].
func (s *size) Type() string { return "size" }
