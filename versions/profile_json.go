package versions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// The head of a profile's file.
const (
	profileFormat  = "tessera-profile"
	profileVersion = 2 // has classes of thin calls; 1 is read as well
)

// maxProfile bounds the size of a profile's file in bytes: about seventy
// thousand timings.
const maxProfile = 16 << 20

// profileFile is the content of a profile's file.
type profileFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	contents
}

// contents is the content of a profile's file beside its head.
type contents struct {
	Timings   timings   `json:"timings"`
	TileSizes tileSizes `json:"tile_sizes,omitempty"`
}

// timings decodes one element at a time and stops at the first bad one, so that a hostile file
// cannot fill the memory before it is refused.
type timings []Timing

func (ts *timings) UnmarshalJSON(data []byte) error {
	return decodeList((*[]Timing)(ts), data, "timing", (*Timing).validate, (*Timing).key)
}

// tileSizes decodes as timings do.
type tileSizes []TileSize

func (ts *tileSizes) UnmarshalJSON(data []byte) error {
	return decodeList((*[]TileSize)(ts), data, "tile size", (*TileSize).validate, (*TileSize).key)
}

// decodeList decodes a list of valid entries with different keys.
func decodeList[E any, K comparable](list *[]E, data []byte, what string, validate func(*E) error,
	key func(*E) K) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if open, err := dec.Token(); err != nil {
		return err
	} else if open != json.Delim('[') {
		return fmt.Errorf("%ss are not a list", what)
	}
	seen := make(map[K]bool)
	for dec.More() {
		var e E
		if err := dec.Decode(&e); err != nil {
			return err
		}
		if err := validate(&e); err != nil {
			return fmt.Errorf("%s %d: %w", what, len(*list), err)
		}
		if seen[key(&e)] {
			return fmt.Errorf("%s %d: repeats an earlier one", what, len(*list))
		}
		seen[key(&e)] = true
		*list = append(*list, e)
	}
	return nil
}

// parseProfile reads what encodeProfile writes. Anything else gives a
// *ProfileError: another format or a later version of it, unknown fields,
// values out of range, repeated timings, text after the end.
func parseProfile(data []byte) (contents, error) {
	if len(data) > maxProfile {
		return contents{}, tooLarge("")
	}
	var f profileFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return contents{}, &ProfileError{Reason: "not a profile: " + err.Error()}
	}
	if _, err := dec.Token(); err != io.EOF {
		return contents{}, &ProfileError{Reason: "text after the end of the profile"}
	}
	if f.Format != profileFormat {
		return contents{}, &ProfileError{Reason: fmt.Sprintf("format is %q, not %q", f.Format, profileFormat)}
	}
	if f.Version < 1 || f.Version > profileVersion {
		return contents{}, &ProfileError{Reason: fmt.Sprintf("version %d of the format; this program reads 1 to %d",
			f.Version, profileVersion)}
	}
	return f.contents, nil
}

func tooLarge(file string) error {
	return &ProfileError{File: file, Reason: "larger than " + bytesText(maxProfile)}
}

// encodeProfile sorts the contents and returns them as text for people and for parseProfile. It
// leaves out entries that parseProfile would refuse.
func encodeProfile(c contents) ([]byte, error) {
	ts := slices.DeleteFunc(slices.Clone(c.Timings), func(t Timing) bool { return t.validate() != nil })
	slices.SortFunc(ts, compareTimings)
	if ts == nil {
		ts = []Timing{}
	}
	tiles := slices.DeleteFunc(slices.Clone(c.TileSizes), func(t TileSize) bool { return t.validate() != nil })
	slices.SortFunc(tiles, compareTileSizes)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(profileFile{profileFormat, profileVersion, contents{ts, tiles}}); err != nil {
		return nil, err
	}
	if b.Len() > maxProfile {
		return nil, &ProfileError{Reason: fmt.Sprintf("would grow beyond %s", bytesText(maxProfile))}
	}
	return b.Bytes(), nil
}
