package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quieter is the advice against disturbances.
const Quieter = "Stop what else runs and measure again, or with --repeat 9: the best run counts."

// Longer says by what part a time is longer.
func Longer(part float64) string {
	if part >= 1 {
		return fmt.Sprintf("%.1f times as long as", 1+part)
	}
	return fmt.Sprintf("%.0f %% longer than", 100*part)
}

// Capital returns text with its first letter in upper case.
func Capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Tiles says of which size tiles are, or that there are none if nb is 0.
func Tiles(nb int) string {
	if nb == 0 {
		return "no tiles"
	}
	return fmt.Sprintf("nb = %d", nb)
}

// Label returns the left margin of a report's line.
func Label(s string) string { return Pad(s, 11) }

// Gflops formats a rate with four digits.
func Gflops(x float64) string { return significant(x, 4) }

// significant formats x with the given number of digits. It keeps zeros at the end, so that numbers of one
// column look alike.
func significant(x float64, digits int) string {
	if !(x >= 1e-3) {
		return fmt.Sprintf("%.*g", digits, x)
	}
	rounded, _ := strconv.ParseFloat(fmt.Sprintf("%.*e", digits-1, x), 64)
	return strconv.FormatFloat(x, 'f', max(digits-1-int(math.Floor(math.Log10(rounded))), 0), 64)
}

// Decimals returns a function that formats the rates of one table alike, with four digits of the largest.
func Decimals(rates ...float64) func(float64) string {
	places := 0
	if top := slices.Max(rates); top > 0 && top < 1000 {
		places = 3 - int(math.Floor(math.Log10(top)))
	}
	return func(x float64) string { return strconv.FormatFloat(x, 'f', places, 64) }
}

// Durations returns a function that formats the times of one table alike, in the unit that suits the longest.
func Durations(seconds ...float64) func(float64) string {
	scale, unit, longest := 1e3, "ms", 0.0
	for _, t := range seconds {
		longest = max(longest, math.Abs(t))
	}
	switch {
	case longest >= 10:
		scale, unit = 1, "s"
	case longest < 1e-3:
		scale, unit = 1e6, "µs"
	}
	return func(t float64) string { return fmt.Sprintf("%.3f %s", t*scale, unit) }
}

// Duration formats a time. Times below 3 hours take at most 10 columns.
func Duration(seconds float64) string {
	return inUnits(seconds, func(x float64) string { return fmt.Sprintf("%.3f", x) })
}

// inUnits formats a time in the unit that suits it.
func inUnits(seconds float64, show func(float64) string) string {
	switch {
	case seconds >= 1:
		return show(seconds) + " s"
	case seconds >= 1e-3:
		return show(seconds*1e3) + " ms"
	}
	return show(seconds*1e6) + " µs"
}

// Count formats a number of things: "3 workers".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// InSeconds returns x seconds as a Duration.
func InSeconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

// Workers returns a number of workers in words.
func Workers(n int) string { return Count(n, "worker") }

// Brief formats a time with three digits.
func Brief(d time.Duration) string {
	return inUnits(d.Seconds(), func(x float64) string { return significant(x, 3) })
}
