package op

import (
	"reflect"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// check returns a *[versions.ParamsError] for the first field of an op's parameter that is out of
// range; params points to a struct. An enumeration must be one of its values; blas.All is a value
// of Uplo if the field has the tag `uplo:"all"`. IB, the columns of a block reflector, is at
// least 1; other integers are indices and not negative. Factors may be any number, as in BLAS.
// Each op itself checks its parameter against the shapes of the tiles.
func check(op string, params any) error {
	v := reflect.ValueOf(params).Elem()
	for i := range v.NumField() {
		f, ok := v.Type().Field(i), true
		switch x := v.Field(i).Interface().(type) {
		case blas.Transpose:
			ok = x == blas.NoTrans || x == blas.Trans || x == blas.ConjTrans
		case blas.Uplo:
			ok = x == blas.Upper || x == blas.Lower || x == blas.All && f.Tag.Get("uplo") == "all"
		case blas.Side:
			ok = x == blas.Left || x == blas.Right
		case blas.Diag:
			ok = x == blas.NonUnit || x == blas.Unit
		case int:
			ok = x > 0 || x == 0 && f.Name != "IB"
		}
		if !ok {
			return &versions.ParamsError{Op: op, Field: f.Name, Reason: "is out of range"}
		}
	}
	return nil
}

// checkIB panics unless ib is at least 1.
func checkIB(ib int) {
	if ib < 1 {
		panic(cpu.ErrBlock)
	}
}
