package versions

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
)

// paramsFormat is the first byte of encoded parameters.
const paramsFormat = 1

// ParamsError reports a parameter whose type is not plain, data that are no parameter, or a field
// that is out of range.
type ParamsError struct {
	Op     string // or the parameter's type
	Field  string // empty if it is the whole
	Reason string
}

func (e *ParamsError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("parameter of %s: %s", e.Op, e.Reason)
	}
	return fmt.Sprintf("parameter of %s: %s %s", e.Op, e.Field, e.Reason)
}

// EncodeParams appends a parameter to dst: nil, or a pointer to a struct whose fields are booleans,
// integers, floating-point and complex numbers, strings, or structs of these. The encoding is a
// byte with the number of the format, and then the fields in order: integers as varints,
// floating-point numbers as their bits, little-endian, complex numbers as two of these, and strings
// after their length. Other types are a *[ParamsError].
func EncodeParams(dst []byte, params any) ([]byte, error) {
	dst = append(dst, paramsFormat)
	if params == nil {
		return dst, nil
	}
	v := reflect.ValueOf(params)
	name := v.Type().String()
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, &ParamsError{name, "", "is no pointer to a struct"}
	}
	err := eachField(name, v.Elem(), func(f reflect.Value) error {
		switch {
		case f.Kind() == reflect.Bool:
			if f.Bool() {
				dst = append(dst, 1)
			} else {
				dst = append(dst, 0)
			}
		case f.CanInt():
			dst = binary.AppendVarint(dst, f.Int())
		case f.CanUint():
			dst = binary.AppendUvarint(dst, f.Uint())
		case f.Kind() == reflect.String:
			dst = append(binary.AppendUvarint(dst, uint64(f.Len())), f.String()...)
		case f.CanComplex():
			dst = appendFloat(appendFloat(dst, real(f.Complex())), imag(f.Complex()))
		default:
			dst = appendFloat(dst, f.Float())
		}
		return nil
	})
	return dst, err
}

func appendFloat(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

func floatOf(data []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data)) }

// DecodeParams returns the parameter of op that [EncodeParams] has encoded in data. The error is a
// *[ParamsError] if data are cut short, too long or of another format, if the parameters of op are
// not plain, or if op is bound to its process. If the parameter has a method Validate() error, its
// error is returned as it is.
func DecodeParams(op *Op, data []byte) (params any, err error) {
	wrong := func(reason string) (any, error) { return nil, &ParamsError{op.OpName(), "", reason} }
	switch {
	case op.Bound:
		return wrong("is of an op that is bound to its process")
	case len(data) == 0 || data[0] != paramsFormat:
		return wrong(fmt.Sprintf("is not of format %d", paramsFormat))
	}
	data = data[1:]
	if op.NewParams != nil {
		params = op.NewParams()
		if err := eachField(op.OpName(), reflect.ValueOf(params).Elem(), func(f reflect.Value) error {
			data, err = decodeField(f, data)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		return wrong(fmt.Sprintf("is followed by %d bytes", len(data)))
	}
	if v, ok := params.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	return params, nil
}

// fieldError is the reason why a field is wrong.
type fieldError string

func (e fieldError) Error() string { return string(e) }

const (
	errShort fieldError = "is cut short"
	errRange fieldError = "is out of range"
)

// decodeField decodes f from the front of data, and returns the rest.
func decodeField(f reflect.Value, data []byte) (rest []byte, err error) {
	n := 0
	switch {
	case f.Kind() == reflect.Bool:
		if len(data) > 0 {
			if data[0] > 1 {
				return data, errRange
			}
			n = 1
			f.SetBool(data[0] == 1)
		}
	case f.CanInt():
		var x int64
		if x, n = binary.Varint(data); n < 0 || f.OverflowInt(x) {
			return data, errRange
		}
		f.SetInt(x)
	case f.CanUint():
		var x uint64
		if x, n = binary.Uvarint(data); n < 0 || f.OverflowUint(x) {
			return data, errRange
		}
		f.SetUint(x)
	case f.Kind() == reflect.String:
		length, prefix := binary.Uvarint(data)
		if prefix > 0 && length <= uint64(len(data)-prefix) {
			n = prefix + int(length)
			f.SetString(string(data[prefix:n]))
		}
	case f.CanComplex():
		if len(data) >= 16 {
			n = 16
			x, y := floatOf(data), floatOf(data[8:])
			f.SetComplex(complex(x, y))
			if z := f.Complex(); x == x && real(z) != x || y == y && imag(z) != y { // no complex64
				return data, errRange
			}
		}
	default:
		if len(data) >= 8 {
			n = 8
			x := floatOf(data)
			if f.SetFloat(x); x == x && f.Float() != x { // no float32
				return data, errRange
			}
		}
	}
	if n == 0 {
		return data, errShort
	}
	return data[n:], nil
}

// eachField calls do with every field of v in order; the fields of a nested struct come in its
// place. It returns a *ParamsError for a field that is not plain or for which do returns an error.
func eachField(name string, v reflect.Value, do func(reflect.Value) error) error {
	for i := range v.NumField() {
		f := v.Field(i)
		var err error
		switch { // ask for a field's name only for an error: it is slow
		case !f.CanInterface():
			err = fieldError("is not exported")
		case f.Kind() == reflect.Struct:
			if err = eachField(name+"."+v.Type().Field(i).Name, f, do); err != nil {
				return err
			}
		case f.Kind() == reflect.Bool || f.Kind() == reflect.String || f.CanInt() || f.CanUint() || f.CanFloat() ||
			f.CanComplex():
			err = do(f)
		default:
			err = fieldError("is a " + f.Kind().String() + ", which is not plain data")
		}
		if err != nil {
			return &ParamsError{name, v.Type().Field(i).Name, err.Error()}
		}
	}
	return nil
}
