// Package cli is what the command lines of this module's programs share: where a program writes ([App]),
// flags and lists of words, errors that say what to do, and files that are written whole.
//
// The files, from the bottom up: nearest (what a word may have meant), flags, lists, words and wordlist
// (what flags take), problems (all that is wrong at once), exit, files, failures, size, version, logging,
// app.
package cli
