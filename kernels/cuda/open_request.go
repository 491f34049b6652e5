package cuda

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Request says which accelerators to open. The zero value asks for none.
type Request struct {
	// Auto asks for every real device there is. That there is none is no error.
	Auto bool
	// Simulated is a number of simulated devices: slow ones that compute on the
	// host, to try what works with devices.
	Simulated int
	// Ordinals are real devices by their numbers: cuda0, cuda1.
	Ordinals []int
}

// maxSimulated bounds Request.Simulated.
const maxSimulated = 16

// RequestError is a word that asks for no device.
type RequestError struct{ Word string }

func (e *RequestError) Error() string {
	return fmt.Sprintf("cuda: %q names no device; want none, auto, sim, sim:2 to sim:%d, or real ones by number, as in cuda0,cuda1", e.Word, maxSimulated)
}

// ParseRequest reads what a command line says: "none" or nothing, "auto", or a
// list of "sim", "sim:2" and "cuda0". The error is a *RequestError.
func ParseRequest(s string) (r Request, err error) {
	switch strings.TrimSpace(s) {
	case "", "none":
		return r, nil
	case "auto":
		return Request{Auto: true}, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		bad := &RequestError{word}
		if kind, n, counted := strings.Cut(word, ":"); kind == "sim" && r.Simulated == 0 {
			r.Simulated = 1
			if counted {
				r.Simulated, err = strconv.Atoi(n)
			}
			if err != nil || r.Simulated < 1 || r.Simulated > maxSimulated {
				return Request{}, bad
			}
			continue
		}
		number, is := strings.CutPrefix(word, "cuda")
		n, err := strconv.Atoi(number)
		if !is || err != nil || n < 0 || strconv.Itoa(n) != number || slices.Contains(r.Ordinals, n) {
			return Request{}, bad
		}
		r.Ordinals = append(r.Ordinals, n)
	}
	return r, nil
}

// String returns what [ParseRequest] reads.
func (r Request) String() string {
	if r.Auto {
		return "auto"
	}
	var words []string
	switch {
	case r.Simulated == 1:
		words = append(words, "sim")
	case r.Simulated > 1:
		words = append(words, fmt.Sprintf("sim:%d", r.Simulated))
	}
	for _, n := range r.Ordinals {
		words = append(words, fmt.Sprintf("cuda%d", n))
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ",")
}
