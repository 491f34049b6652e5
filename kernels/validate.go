package kernels

import (
	"reflect"

	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Parameters that come from elsewhere are validated before they are used: an
// enumeration is one of its values, the columns IB of a block reflector are at least
// one, and other integers, which are indices, are not negative. Factors may be any
// number, as in BLAS. Whether a parameter fits the shapes of the tiles is for the op to
// say. The error is a *[versions.ParamsError] for the first field that is wrong.

// Validate returns an error if a field is out of range.
func (p *Gemm) Validate() error { return validate("gemm", p) }

// Validate returns an error if a field is out of range.
func (p *Syrk) Validate() error { return validate("syrk", p) }

// Validate returns an error if a field is out of range.
func (p *Trsm) Validate() error { return validate("trsm", p) }

// Validate returns an error if a field is out of range.
func (p *Potrf) Validate() error { return validate("potrf", p) }

// Validate returns an error if a field is out of range.
func (p *Getrf) Validate() error { return validate("getrf", p) }

// Validate returns an error if a field is out of range.
func (p *Getrfnp) Validate() error { return validate("getrfnp", p) }

// Validate returns an error if a field is out of range.
func (p *Tntleaf) Validate() error { return validate("tntleaf", p) }

// Validate returns an error if a field is out of range.
func (p *Tntroot) Validate() error { return validate("tntroot", p) }

// Validate returns an error if a field is out of range.
func (p *Trmm) Validate() error { return validate("trmm", p) }

// Validate returns an error if a field is out of range.
func (p *Geqrt) Validate() error { return validate("geqrt", p) }

// Validate returns an error if a field is out of range.
func (p *Unmqr) Validate() error { return validate("unmqr", p) }

// Validate returns an error if a field is out of range.
func (p *Tsqrt) Validate() error { return validate("tsqrt", p) }

// Validate returns an error if a field is out of range.
func (p *Tsmqr) Validate() error { return validate("tsmqr", p) }

// Validate returns an error if a field is out of range.
func (p *Ttqrt) Validate() error { return validate("ttqrt", p) }

// Validate returns an error if a field is out of range.
func (p *Plrnt) Validate() error { return validate("plrnt", p) }

// Validate returns an error if a field is out of range.
func (p *Asum) Validate() error { return validate("asum", p) }

// Validate returns an error if a field is out of range.
func (p *Ttmqr) Validate() error { return validate("ttmqr", p) }

// Validate returns an error if a field is out of range.
func (p *Lacpy) Validate() error { return validate("lacpy", p) }

// Validate returns an error if a field is out of range.
func (p *Recut) Validate() error { return validate("recut", p) }

// Validate implements the check of versions.DecodeParams.
func (p *Larft) Validate() error { return validate("larft", p) }

// Validate returns an error if a field is out of range.
func (p *Laset) Validate() error { return validate("laset", p) }

// validate checks the fields of the parameter of an op, a pointer to a struct.
func validate(op string, params any) error {
	v := reflect.ValueOf(params).Elem()
	for i := range v.NumField() {
		name, ok := v.Type().Field(i).Name, true
		switch x := v.Field(i).Interface().(type) {
		case blas.Transpose:
			ok = x == blas.NoTrans || x == blas.Trans || x == blas.ConjTrans
		case blas.Uplo:
			ok = x == blas.Upper || x == blas.Lower || x == blas.All && (op == "lacpy" || op == "laset" || op == "asum" || op == "lange" || op == "recut")
		case blas.Side:
			ok = x == blas.Left || x == blas.Right
		case blas.Diag:
			ok = x == blas.NonUnit || x == blas.Unit
		case int:
			ok = x > 0 || x == 0 && name != "IB"
		}
		if !ok {
			return &versions.ParamsError{Op: op, Field: name, Reason: "is out of range"}
		}
	}
	return nil
}
