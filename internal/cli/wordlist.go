package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// WordList is the value of a flag that takes comma-separated words and may be given several times.
type WordList struct {
	to    *[]string
	given bool // false while the list is the default, which the first use of the flag replaces
}

// NewWordList returns a flag that stores its words in *to.
func NewWordList(to *[]string) *WordList { return &WordList{to: to} }

// String implements pflag.Value.
func (l *WordList) String() string {
	if l == nil || l.to == nil {
		return ""
	}
	return strings.Join(*l.to, ",")
}

// Type implements pflag.Value.
func (l *WordList) Type() string { return "strings" }

// Set implements pflag.Value. An empty text has no words. Otherwise each comma must have a word on both sides.
func (l *WordList) Set(text string) error {
	if !l.given {
		l.given, *l.to = true, nil
	}
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.Trim(word, " ")
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
