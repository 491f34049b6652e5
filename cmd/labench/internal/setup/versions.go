package setup

import (
	"errors"
	"strings"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// ParseVersions parses a list of names of versions, and of pins op=version.
func ParseVersions(list string) (only []string, fixed []versions.Pin, err error) {
	var names, pins []string
	for _, word := range strings.Split(list, ",") {
		if strings.Contains(word, "=") {
			pins = append(pins, word)
		} else {
			names = append(names, word)
		}
	}
	if only, err = versions.ParseNames(strings.Join(names, ",")); err != nil {
		return nil, nil, Listed("versions", err)
	}
	fixed, err = versions.ParsePins(strings.Join(pins, ","))
	return only, fixed, Listed("versions", err)
}

// Listed restates an error about a list of versions with the name of the flag.
func Listed(flag string, err error) error {
	if err != nil {
		err = cli.Usage(errors.New("--" + flag + strings.TrimPrefix(err.Error(), "versions")))
	}
	return err
}

// CheckVersions returns an error that names the versions that do not exist.
func CheckVersions(only []string, fixed []versions.Pin) error {
	e, err := la.NewEngine(la.Options{Workers: 1, Float: true, Thorough: true, Only: only, Fixed: fixed})
	if err != nil {
		return err
	}
	return e.Close()
}
