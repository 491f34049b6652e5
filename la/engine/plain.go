package engine

import "reflect"

// alwaysDirect is the least value of directUpTo.
const alwaysDirect = 240

// plainUpTo returns the largest order for which an engine with these options is plain.
func (o *Options) plainUpTo() int {
	switch {
	case len(o.Only)+len(o.Exclude)+len(o.Fixed)+len(o.Accelerators)+len(o.Resources)+o.Retries > 0,
		o.Table != nil, o.Trace != nil, o.Runtime != nil, o.Thorough, o.Profile != nil, !reflect.ValueOf(o.Target).IsZero():
		return 0
	case o.Direct > 0:
		return o.Direct
	case o.Direct < 0:
		return 0
	case o.NB > 0:
		return o.NB
	}
	return alwaysDirect
}
