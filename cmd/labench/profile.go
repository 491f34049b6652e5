package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tessera-la/tessera/versions"
)

// profile is what is known of the versions' speed, and the file it is kept
// in.
type profile struct {
	*versions.Profile
	path string // empty: it is not kept
}

// openProfile reads the profile that --profile names: a file, "none", or if
// empty the default one. A file with something else in it is set aside with a
// warning.
func (a *app) openProfile(name string) (*profile, error) {
	switch name {
	case "none":
		return &profile{Profile: new(versions.Profile)}, nil
	case "":
		dir, err := os.UserCacheDir()
		if err == nil {
			dir = filepath.Join(dir, "tessera")
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil {
			a.warn(fmt.Sprintf("what is learned of the versions is not kept: %v; --profile names another file", err))
			return &profile{Profile: new(versions.Profile)}, nil
		}
		name = filepath.Join(dir, "profile.json")
	}
	p, warning, err := versions.Load(name)
	if err != nil {
		return nil, fmt.Errorf("the profile cannot be read: %w; --profile none does without", err)
	}
	if warning != nil {
		a.warn(warning.String())
	}
	return &profile{p, name}, nil
}

// save writes the profile to its file. That a run cannot be remembered does
// not spoil it.
func (p *profile) save(a *app) {
	if p.path == "" {
		return
	}
	warning, err := p.Save(p.path)
	if warning != nil {
		a.warn(warning.String())
	}
	if err != nil {
		a.warn(fmt.Sprintf("what was learned of the versions is not kept: %v", err))
	}
}
