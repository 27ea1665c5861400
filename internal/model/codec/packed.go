package codec

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
)

// packed returns the form of the same values stored compressed if that is smaller. With an empty codec
// they are stored as they are. Values are read with the codec that they were written with. text reports
// that the plain values are text.
func packed(f *Form, codecs compression.Codecs, codec compression.Name, text bool) *Form {
	p := *f
	p.encode = func(v any, o Options, depth int) (types.AttributeValue, error) {
		av, err := f.encode(v, o, depth)
		if err != nil || av == nil {
			return nil, err
		}
		return extern.Pack(av, codecs, codec, text)
	}
	p.decode = func(v any, av types.AttributeValue, o Options) error {
		av, err := extern.Unpack(av, codecs, text)
		if err != nil {
			return err
		}
		return f.decode(v, av, o)
	}
	p.scan, p.set, p.exact = nil, nil, nil
	return &p
}
