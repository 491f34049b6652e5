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

// profilePath returns the file of the profile where none is named: in the
// user's cache.
func profilePath() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tessera", "profile.json"), nil
}

// openProfile reads the profile that --profile names: a file, "none", or if
// empty the default one. A file with something else in it is set aside with a
// warning.
func (a *app) openProfile(name string) (*profile, error) {
	switch name {
	case "none":
		return &profile{Profile: new(versions.Profile)}, nil
	case "":
		var err error
		if name, err = profilePath(); err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err != nil {
			a.warn(fmt.Sprintf("what is learned of the versions is not kept: %v; --profile names another file", err))
			return &profile{Profile: new(versions.Profile)}, nil
		}
	}
	var errs problems
	if errs.target("profile", name) { // what is learned could not be kept
		return nil, usage(joinLine(errs))
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

// save writes the profile to its file, and reports whether it is kept there.
// That a run cannot be remembered does not spoil it.
func (p *profile) save(a *app) (kept bool) {
	if p.path == "" {
		return false
	}
	warning, err := p.Save(p.path)
	if warning != nil {
		a.warn(warning.String())
	}
	if err != nil {
		a.warn(fmt.Sprintf("what was learned of the versions is not kept: %v", err))
	}
	return err == nil
}
