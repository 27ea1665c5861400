package inspect

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/schema"
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
			if _, pointer := large.PointerOf(v); pointer {
				continue
			}
			plain, err := large.Unpack(v, s.m.Codings, w.Type == "S" && !a.Value.Type.Lazy)
			if err != nil {
				add(Value, fmt.Sprintf("%s cannot be decompressed", a.Name),
					"restore the value, or set the field again")
				continue
			}
			v = plain
		}
		if at := misfit(&w, v, a.Name); at != "" {
			add(Type, fmt.Sprintf("%s: a load of the field %s fails", at, a.Value.Name), "convert the attribute")
		} else if at := tooLong(&w, v, a.Name); at != "" {
			add(Type, fmt.Sprintf("%s: a load of the field %s leaves the rest out, and a change of the field is "+
				"refused", at,
				a.Value.Name), "shorten the list, or use a slice")
		}
	}
}

// misfit describes the part of a value that attributevalue does not decode into the Go type of a field, "" if there is
// none. at is the path of the value.
func misfit(w *schema.Wire, v types.AttributeValue, at string) string {
	wrong := fmt.Sprintf("%s is of type %s, and not %s", at, attr.TypeName(v), w.Type)
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return ""
	case *types.AttributeValueMemberS:
		return misfitText(w, v.Value, at, wrong)
	case *types.AttributeValueMemberN:
		return misfitNumber(w, v.Value, at, wrong)
	case *types.AttributeValueMemberB:
		if w.Type == "B" && w.Len > 0 && len(v.Value) != w.Len {
			return fmt.Sprintf("%s has %d bytes, and not %d", at, len(v.Value), w.Len)
		}
	case *types.AttributeValueMemberL:
		return misfitList(w, v.Value, at, wrong)
	case *types.AttributeValueMemberM:
		return misfitMap(w, v.Value, at, wrong)
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		if w.Type == "L" {
			return ""
		}
	}
	return unless(w, attr.TypeName(v), wrong)
}

// tooLong describes a list in a value that is longer than the array of its field, "" if there is none.
func tooLong(w *schema.Wire, v types.AttributeValue, at string) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		if w.Type != "L" || w.Of == nil {
			return ""
		}
		if w.Len > 0 && len(v.Value) > w.Len {
			return fmt.Sprintf("%s has %d elements, and not %d", at, len(v.Value), w.Len)
		}
		for i, e := range v.Value {
			if text := tooLong(w.Of, e, fmt.Sprintf("%s[%d]", at, i)); text != "" {
				return text
			}
		}
	case *types.AttributeValueMemberM:
		for i := range w.Fields {
			if e := v.Value[w.Fields[i].Name]; e != nil {
				if text := tooLong(&w.Fields[i].Wire, e, at+"."+w.Fields[i].Name); text != "" {
					return text
				}
			}
		}
		for _, e := range v.Value {
			if w.Of == nil {
				break
			}
			if text := tooLong(w.Of, e, at+"[...]"); text != "" {
				return text
			}
		}
	}
	return ""
}

// unless returns a text unless the form takes values of a type.
func unless(w *schema.Wire, name, wrong string) string {
	switch w.Type {
	case name, "any", "own", "again":
		return ""
	}
	return wrong
}

func misfitText(w *schema.Wire, text, at, wrong string) string {
	switch {
	case w.Format == "time" || w.Format == "unixtime":
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return at + " is not a time"
		}
		return ""
	case w.Format == "number":
		return misfitNumber(w, text, at, wrong)
	case w.Type == "N" && w.Number == "": // json.Number and others
		return ""
	}
	return unless(w, "S", wrong)
}

func misfitNumber(w *schema.Wire, text, at, wrong string) string {
	if w.Type == "S" && w.Format != "number" { // a text, or a time
		return ""
	}
	if w.Type != "N" && w.Format != "number" {
		return unless(w, "N", wrong)
	}
	var err error
	switch w.Number {
	case "int", "int8", "int16", "int32", "int64":
		_, err = strconv.ParseInt(text, 10, bits(w.Number[len("int"):]))
	case "uint", "uint8", "uint16", "uint32", "uint64":
		_, err = strconv.ParseUint(text, 10, bits(w.Number[len("uint"):]))
	case "float32", "float64":
		_, err = strconv.ParseFloat(text, bits(w.Number[len("float"):]))
	}
	if err != nil {
		return fmt.Sprintf("%s is not in the range of %s", at, w.Number)
	}
	return ""
}

// bits returns the size of a Go number from the end of its name.
func bits(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return strconv.IntSize
}

func misfitList(w *schema.Wire, all []types.AttributeValue, at, wrong string) string {
	switch w.Type {
	case "L", "SS", "NS", "BS":
	default:
		return unless(w, "L", wrong)
	}
	for i, e := range all {
		if w.Of == nil {
			break
		}
		if text := misfit(w.Of, e, fmt.Sprintf("%s[%d]", at, i)); text != "" {
			return text
		}
	}
	return ""
}

func misfitMap(w *schema.Wire, all map[string]types.AttributeValue, at, wrong string) string {
	if w.Type != "M" {
		return unless(w, "M", wrong)
	}
	for i := range w.Fields {
		f := &w.Fields[i]
		if v := all[f.Name]; v != nil {
			if text := misfit(&f.Wire, v, at+"."+f.Name); text != "" {
				return text
			}
		}
	}
	for name, v := range all {
		if w.Of == nil {
			break
		}
		if w.Number != "" {
			key := schema.Wire{Type: "N", Number: w.Number}
			if misfitNumber(&key, name, at, "") != "" {
				return at + " has a key that is not a number of the map's type"
			}
		}
		if text := misfit(w.Of, v, at+"[...]"); text != "" {
			return text
		}
	}
	return ""
}
