package op_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// valid sets every field of a parameter to something that is neither zero nor wrong.
func valid(params any) {
	v := reflect.ValueOf(params).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *blas.Transpose:
			*f = blas.Trans
		case *blas.Uplo:
			*f = blas.Lower
		case *blas.Side:
			*f = blas.Right
		case *blas.Diag:
			*f = blas.Unit
		case *int:
			*f = 1000 + i
		case *float64:
			*f = 0.1
		case *bool:
			*f = true
		}
	}
}

// The parameter of every op is plain data: it is sent, and the receiver
// finds what is wrong with it.
func TestParams(t *testing.T) {
	for _, op := range op.NewTable().All() {
		params := op.NewParams()
		valid(params)
		b, err := versions.EncodeParams(nil, params)
		if err != nil {
			t.Errorf("%s: %v", op.OpName(), err)
			continue
		}
		if got, err := versions.DecodeParams(op, b); err != nil || !reflect.DeepEqual(got, params) {
			t.Errorf("%s: %+v became %+v, %v", op.OpName(), params, got, err)
		}
		v := reflect.ValueOf(params).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			switch was := f.Interface().(type) {
			case blas.Transpose, blas.Uplo, blas.Side, blas.Diag:
				f.SetUint(1)
				refused(t, op, params, v.Type().Field(i).Name)
				f.Set(reflect.ValueOf(was))
			case int:
				f.SetInt(-1)
				refused(t, op, params, v.Type().Field(i).Name)
				f.SetInt(int64(was))
			}
		}
	}
	if err := (&op.Geqrt{}).Validate(); err == nil {
		t.Error("a block reflector of no column")
	}
	if err := (&op.Potrf{Uplo: blas.All}).Validate(); err == nil {
		t.Error("two triangles")
	}
	if err := (&op.Lacpy{Uplo: blas.All}).Validate(); err != nil {
		t.Error(err)
	}
}

// refused fails t unless the parameter of op is found to have a wrong field.
func refused(t *testing.T, op *versions.Op, params any, field string) {
	t.Helper()
	b, err := versions.EncodeParams(nil, params)
	if err != nil {
		t.Fatal(err)
	}
	var e *versions.ParamsError
	if _, err := versions.DecodeParams(op, b); !errors.As(err, &e) || e.Op != op.Name || e.Field != field {
		t.Errorf("%s: %+v: %v", op.OpName(), params, err)
	}
}
