package cluster

import (
	"reflect"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// FuzzDecode: what comes is refused or decoded, and what was decoded is encoded and
// decoded to the same.
func FuzzDecode(f *testing.F) {
	r := transport.Ref{Job: 7, Matrix: 1, I: 2, J: -3, Version: 4}
	f.Add(encode(kindHello, hello{Workers: 3}))
	f.Add(encode(kindRun, run{Job: 7, Drops: []transport.Ref{r}, Tasks: []task{{ID: 1, Op: "gemm/f64", Params: []byte{1}, Retries: 2, Timeout: time.Second,
		Operands: []operand{{Ref: r, Mode: graph.InOut, From: []string{"a", "b"}, Type: "*kernels.Tile[float64]", Shape: []byte("T")}}}}}))
	f.Add(encode(kindEnded, ended{Job: 7, Ends: []end{{ID: 1, Fault: &fault{Op: "potrf", Text: "no"}}, {ID: 2, Missing: []transport.Ref{r}, Why: "gone"}}}))
	f.Add(encode(kindOver, over{Job: 7}))
	f.Add([]byte{protocol, byte(kindRun), 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, m []byte) {
		k, body, err := split("x", m)
		if err != nil {
			return
		}
		for _, x := range []any{new(hello), new(run), new(ended), new(over)} {
			if decode("x", body, x) != nil {
				continue
			}
			again := reflect.New(reflect.TypeOf(x).Elem()).Interface()
			_, b, err := split("x", encode(k, x))
			if err == nil {
				err = decode("x", b, again)
			}
			if err != nil || !reflect.DeepEqual(x, again) {
				t.Fatalf("%+v became %+v, %v", x, again, err)
			}
		}
	})
}

// TestDirectory walks one datum through what can happen to it.
func TestDirectory(t *testing.T) {
	d := newDirectory(9)
	a, b := d.add(1, 2, 3), d.add(1, 2, 4)
	if !d.has(a, 0) || d.has(a, 1) || d.data[b].ref != (transport.Ref{Job: 9, Matrix: 1, I: 2, J: 4}) {
		t.Fatalf("a new datum: %+v", d.data)
	}
	d.read(a, 2)
	d.read(a, 1)
	d.read(a, 2)
	first := map[int]int{}
	for range 6 { // holders take turns
		all := d.holders(a)
		if len(all) != 3 {
			t.Fatalf("holders %v", all)
		}
		first[all[0]]++
	}
	if first[0] != 2 || first[1] != 2 || first[2] != 2 {
		t.Errorf("asked first: %v", first)
	}
	d.written(a, 1)
	if !reflect.DeepEqual(d.data[a].holders, []int{1}) || d.data[a].ref.Version != 1 {
		t.Errorf("written: %+v", d.data[a])
	}
	if got := d.drops(2); len(got) != 1 || got[0].Version != 0 || d.drops(2) != nil || d.drops(0) != nil || d.drops(1) != nil {
		t.Errorf("drops %v", got)
	}
	d.read(b, 1)
	if d.lost(2) {
		t.Error("a node that has nothing takes something with it")
	}
	if !d.lost(1) || d.has(b, 1) || len(d.holders(a)) != 0 {
		t.Errorf("the last copy: %+v", d.data)
	}
	if !d.absent(b) || d.absent(a) {
		t.Errorf("absent: %+v", d.data)
	}
}
