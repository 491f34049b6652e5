#!/usr/bin/env bash
# github.com/spf13/cobra v1.10.2: RegisterFlagCompletionFunc puts the flag into a map of the package, which nothing
# empties. The flag's value points to what the flag sets, so a command with completions, and all that its options
# reach, stays in memory until the process ends, however often a program or a test makes a new command and drops it.
# Flags without such a function are collected with their command.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'END'
module finding

go 1.26

require (
	github.com/spf13/cobra v1.10.2
)
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

type options struct {
	word   string
	matrix [1 << 20]byte
}

// left makes commands, drops them, and returns how many of their options are still in memory.
func left(completion bool) (n int) {
	const commands = 20
	gone := make(chan bool, commands)
	for range commands {
		o := new(options)
		runtime.AddCleanup(o, func(int) { gone <- true }, 0)
		c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
		c.Flags().StringVar(&o.word, "word", "", "a word")
		if completion {
			if err := c.RegisterFlagCompletionFunc("word", cobra.FixedCompletions([]string{"a"}, cobra.ShellCompDirectiveDefault)); err != nil {
				panic(err)
			}
		}
	}
	for range 10 {
		runtime.GC()
	}
	for range 1000 {
		runtime.Gosched()
	}
	return commands - len(gone)
}

func main() {
	fmt.Println("without completions, nearly all are collected:", left(false) <= 2)
	fmt.Println("with completions, in memory of 20:", left(true))
}
END
cat >expected <<'END'
without completions, nearly all are collected: true
with completions, in memory of 20: 20
END
GOFLAGS=-mod=mod GOWORK=off go run . | tee output
diff expected output >/dev/null || { echo "changed: this is what it was:"; cat expected; exit 1; }
