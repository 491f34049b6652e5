package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// wordList is the value of a flag that takes words between commas, and may be given several times.
type wordList struct {
	to    *[]string
	given bool // what was there is the default, which the first word replaces
}

// NewWordList returns a flag that puts its words into to.
func NewWordList(to *[]string) *wordList { return &wordList{to: to} }

// String implements pflag.Value.
func (l *wordList) String() string {
	if l == nil || l.to == nil {
		return ""
	}
	return strings.Join(*l.to, ",")
}

// Type implements pflag.Value.
func (l *wordList) Type() string { return "strings" }

// Set implements pflag.Value. An empty list has no words; between commas there has to be one.
func (l *wordList) Set(text string) error {
	if !l.given {
		l.given, *l.to = true, nil
	}
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimFunc(word, func(r rune) bool { return r == ' ' })
		switch {
		case word == "":
			return errors.New("there is no word between two commas")
		case strings.ContainsFunc(word, unicode.IsControl):
			return fmt.Errorf("%q has control characters", word)
		}
		*l.to = append(*l.to, word)
	}
	return nil
}
