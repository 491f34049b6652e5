package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// value is a flag that says in plain words what it was given and what it takes.
// It makes a pflag.Value.
type value[T any] struct {
	to    *T
	flag  string // without dashes
	kind  string // in the help
	want  string
	parse func(string) (T, bool)
}

// Set implements pflag.Value. The error is a *listError.
func (v *value[T]) Set(s string) error {
	x, ok := v.parse(s)
	if !ok {
		return &listError{v.flag, s, v.want}
	}
	*v.to = x
	return nil
}

func (v *value[T]) String() string {
	if v.to == nil {
		return "" // pflag asks a zero value
	}
	return fmt.Sprint(*v.to)
}

// Type implements pflag.Value.
func (v *value[T]) Type() string { return v.kind }

// wholeNumber reads a whole number that an int holds on every machine.
func wholeNumber(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 0, 32)
	return int(n), err == nil
}

// intFlag defines a flag for a whole number; which ones make sense is looked at
// later, when all that is wrong can be said at once. The letter may be empty.
func intFlag(cmd *cobra.Command, to *int, name, letter string, byDefault int, usage string) {
	*to = byDefault
	cmd.Flags().VarP(&value[int]{to, name, "int", "a whole number, at most 2147483647", wholeNumber}, name, letter, usage)
}

// seedFlag defines the flag --seed.
func seedFlag(cmd *cobra.Command, to *uint64, usage string) {
	*to = 1
	parse := func(s string) (uint64, bool) {
		n, err := strconv.ParseUint(s, 0, 64)
		return n, err == nil
	}
	cmd.Flags().Var(&value[uint64]{to, "seed", "uint", "a whole number from 0 to 18446744073709551615", parse}, "seed", usage)
}

// durationFlag defines a flag for a time.
func durationFlag(cmd *cobra.Command, to *time.Duration, name string, byDefault time.Duration, usage string) {
	*to = byDefault
	parse := func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	cmd.Flags().Var(&value[time.Duration]{to, name, "duration", "a time, as in 90s, 5m or 30ms", parse}, name, usage)
}

// boolFlag defines a flag that may stand without a value.
func boolFlag(cmd *cobra.Command, to *bool, name string, byDefault bool, usage string) {
	*to = byDefault
	parse := func(s string) (bool, bool) {
		b, err := strconv.ParseBool(s)
		return b, err == nil
	}
	cmd.Flags().VarPF(&value[bool]{to, name, "bool", "true or false", parse}, name, "", usage).NoOptDefVal = "true"
}
