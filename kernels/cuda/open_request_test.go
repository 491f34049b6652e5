package cuda

import (
	"errors"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for in, want := range map[string]string{
		"": "none", "none": "none", " auto ": "auto", "sim": "sim", "sim:1": "sim", "sim:3": "sim:3",
		"cuda0": "cuda0", "cuda2, cuda0": "cuda2,cuda0", "cuda1,sim:2": "sim:2,cuda1",
	} {
		r, err := ParseRequest(in)
		if err != nil || r.String() != want {
			t.Errorf("%q: got %v, %v, want %s", in, r, err, want)
		}
		if again, err := ParseRequest(r.String()); err != nil || again.String() != want {
			t.Errorf("%q: read again: %v, %v", in, again, err)
		}
	}
	for in, word := range map[string]string{
		"gpu": "gpu", "sim:0": "sim:0", "sim:17": "sim:17", "sim:x": "sim:x", "sim,sim": "sim", "cuda": "cuda", "cuda-1": "cuda-1",
		"cuda01": "cuda01", "cuda0,cuda0": "cuda0", "cuda0,": "", "auto,sim": "auto", "none,sim": "none", "cuda0x": "cuda0x",
	} {
		_, err := ParseRequest(in)
		var bad *RequestError
		if !errors.As(err, &bad) || bad.Word != word {
			t.Errorf("%q: got %v", in, err)
		}
	}
}
