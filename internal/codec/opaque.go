package codec

import (
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Opaque returns the form of a type that only attributevalue knows how to encode, in a
// field with these options. names are the structs in it, whose names match exactly.
func Opaque(f *Form, options []string, names *Names) *Form {
	h := newHolder(f.Type, strings.Join(append([]string{"F"}, options...), ","))
	asString := OptionsOf(options)&AsString != 0
	o := &Form{Type: f.Type, memory: f.memory}
	o.encode = func(p any, _ Options, _ int) (types.AttributeValue, error) {
		if err := dynamic(p); err != nil {
			return nil, err
		}
		return h.encode(p)
	}
	o.decode = func(p any, av types.AttributeValue, _ Options) error {
		av = names.Exact(av)
		if asString {
			return h.decode(p, av)
		}
		return plainly(p, av)
	}
	return o
}

// dynamic is checkDynamic of a pointer's target.
func dynamic(p any) (err error) {
	defer recovered(&err, reflect.TypeOf(p).Elem())
	return checkDynamic(reflect.ValueOf(p).Elem(), 0)
}

// opaqueForm completes the form of an opaque type with the options of its place.
func opaqueForm(f *Form) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		return Opaque(f, o.words(), nil).encode(p, 0, 0)
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		return Opaque(f, o.words(), nil).decode(p, av, 0)
	}
	return f
}
