package op

import (
	"reflect"

	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// check checks the parameter of an op, a pointer to a struct, that comes from elsewhere. An
// enumeration is one of its values; blas.All is one of Uplo if the field has the tag `uplo:"all"`.
// The columns IB of a block reflector are at least one, and other integers, which are indices, are
// not negative. Factors may be any number, as in BLAS. Whether a parameter fits the shapes of the
// tiles is for the op to say. The error is a *[versions.ParamsError] for the first field that is
// wrong.
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
