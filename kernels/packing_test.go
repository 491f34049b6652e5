package kernels

import "testing"

// An operand is packed once, by the first of several tasks, and by nobody for one.
func TestPackingOnce(t *testing.T) {
	const n = 100
	var p Packing
	p.Init(NewPackingRoom(n*8), 3)
	packed, form := 0, PackingForm{Routines: "some", Dim: 10, K: 10}
	pack := func(x []float64) { packed++; x[n-1] = 7 }
	x := Packed(&p, form, n, pack)
	y := Packed(&p, form, n, pack)
	if packed != 1 || len(x) != n || y == nil || y[n-1] != 7 {
		t.Fatalf("packed %d times, got %d and %d elements", packed, len(x), len(y))
	}
	p.Done(x != nil)
	if z := Packed(&p, PackingForm{Routines: "others", Dim: 10, K: 10}, n, pack); z != nil {
		t.Error("the form of other routines was used")
	}
	p.Done(false) // that one
	if p.work == nil {
		t.Error("memory given back while a task reads it")
	}
	p.Done(y != nil)
	if p.work != nil || p.room.Left() != n*8 {
		t.Error("memory not given back")
	}
	if x := Packed(&p, form, n, pack); x != nil || packed != 1 { // a task that is repeated
		t.Error("packed when nobody is to come")
	}
	p.Done(false)

	var one Packing
	one.Init(NewPackingRoom(n*8), 1)
	if x := Packed(&one, form, n, pack); x != nil || packed != 1 {
		t.Error("packed for one task")
	}
}

// If packing panics, that task does, and the others do without.
func TestPackingPanics(t *testing.T) {
	var p Packing
	p.Init(NewPackingRoom(1<<20), 3)
	form := PackingForm{Dim: 1}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		Packed(&p, form, 10, func([]float64) { panic("bad tile") })
	}()
	p.Done(false)
	if x := Packed(&p, form, 10, func([]float64) { t.Error("packed again") }); x != nil {
		t.Error("half packed operand used")
	}
	p.Done(false)
	p.Done(false)
}
