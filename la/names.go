package la

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/internal/words"
)

// setName sets to to the value with the given name, in upper or lower case.
func setName[E ~uint8](to *E, names words.Of[E], name, what string) error {
	e, ok := names.Find(name)
	if !ok {
		return fmt.Errorf("la: unknown %s %q; known are %s", what, name, strings.Join(names, ", "))
	}
	*to = e
	return nil
}
