package inspect

import (
	"fmt"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/schema"
)

// types reports the attributes that a load cannot read.
func (s *subject) types(add func(Rule, string, string)) {
	for _, a := range s.img.Kind.Attributes {
		v := s.img.Attribute(a.Name)
		if v == nil {
			continue
		}
		w := a.Value.Type.Wire(a.AV.Options)
		if a.Large != nil {
			if _, pointer := extern.PointerOf(v); pointer {
				continue
			}
			plain, err := extern.Unpack(v, s.m.Codecs, w.Type == "S" && !a.Value.Type.Lazy)
			if err != nil {
				add(Value, fmt.Sprintf("%s cannot be decompressed", a.Name),
					"restore the value, or set the field again")
				continue
			}
			v = plain
		}
		if m := schema.Misread(&w, v, a.Name); m != nil {
			add(Type, fmt.Sprintf("%v: a load of the field %s fails", m, a.Value.Name), "convert the attribute")
		} else if m := schema.MisreadWhole(&w, v, a.Name); m != nil {
			add(Type, fmt.Sprintf("%v: a load of the field %s leaves the rest out, and a change of the field is "+
				"refused", m, a.Value.Name), "shorten the list, or use a slice")
		}
	}
}
