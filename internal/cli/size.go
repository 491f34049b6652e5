package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/internal/report"
)

// Size is a flag for a number of bytes.
type Size int64

// Set implements [pflag.Value].
func (s *Size) Set(text string) error {
	digits := strings.TrimRight(text, "KMGTiB")
	scale, ok := map[string]float64{"": 1, "B": 1, "K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "TiB": 1 << 40}[text[len(digits):]]
	x, err := strconv.ParseFloat(strings.TrimSuffix(digits, " "), 64) // as String writes it
	if x *= scale; !ok || err != nil || !(x >= 1 && x < math.MaxInt64) {
		return fmt.Errorf("want a number of bytes, as in 1.5GiB or 800MiB")
	}
	*s = Size(x)
	return nil
}

// String implements [pflag.Value].
func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return report.Bytes(float64(*s))
}

// Type implements [pflag.Value].
func (s *Size) Type() string { return "size" }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }
