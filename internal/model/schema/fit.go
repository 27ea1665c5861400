package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
)

// Misfit is a part of a stored value that a load does not read, or reads only in part.
type Misfit struct {
	// Path is the place of the part: the attribute, and fields and indexes inside it. The keys of maps
	// are data, and are not in it.
	Path string
	// Reason begins with a verb: "is of type L, and not S".
	Reason string
}

// Error returns the path and the reason.
func (m *Misfit) Error() string { return m.Path + " " + m.Reason }

// Misread returns the first part of a value that does not decode into a field of a form, nil for none.
func Misread(w *Wire, v types.AttributeValue, path string) *Misfit {
	c := check{opaque: opaque(w)}
	c.misfit = c.unread
	return c.value(w, v, path)
}

// MisreadWhole returns the first list in a value that is longer than the array of its field, nil for none. A
// load takes its first elements.
func MisreadWhole(w *Wire, v types.AttributeValue, path string) *Misfit {
	c := check{misfit: cut}
	return c.value(w, v, path)
}

// check goes through a value and its form.
type check struct {
	// around are the forms around the value, the outermost first.
	around []*Wire
	// misfit returns the fault of a value, without the values in it, "" for none.
	misfit func(w *Wire, v types.AttributeValue) string
	// opaque reports that attributevalue decodes the whole attribute.
	opaque bool
}

// opaque reports whether a form has a part that only attributevalue decodes.
func opaque(w *Wire) bool {
	return w.Type == "any" || w.Type == "own" || w.Key == "text" || w.Of != nil && opaque(w.Of) ||
		slices.ContainsFunc(w.Fields, func(f WireField) bool { return opaque(&f.Wire) })
}

func (c *check) value(w *Wire, v types.AttributeValue, path string) *Misfit {
	depth := len(c.around)
	if w.Type == "again" {
		if w.Up == 0 || w.Up > depth {
			return nil // it is of an older lock file
		}
		depth -= w.Up
		w = c.around[depth]
	}
	if w.Type == "any" && w.Format == "" || w.Type == "own" || w.Type == "" {
		return nil
	}
	if reason := c.misfit(w, v); reason != "" {
		return &Misfit{path, reason}
	}
	before := c.around
	c.around = append(c.around[:depth:depth], w)
	defer func() { c.around = before }()
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		return c.list(w, v.Value, path)
	case *types.AttributeValueMemberSS:
		return c.list(w, elementsOf(v.Value, func(s string) types.AttributeValue {
			return &types.AttributeValueMemberS{Value: s}
		}), path)
	case *types.AttributeValueMemberNS:
		return c.list(w, elementsOf(v.Value, func(n string) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: n}
		}), path)
	case *types.AttributeValueMemberBS:
		return c.list(w, elementsOf(v.Value, func(b []byte) types.AttributeValue {
			return &types.AttributeValueMemberB{Value: b}
		}), path)
	case *types.AttributeValueMemberM:
		return c.entries(w, v.Value, path)
	}
	return nil
}

func elementsOf[E any](set []E, of func(E) types.AttributeValue) []types.AttributeValue {
	all := make([]types.AttributeValue, len(set))
	for i, e := range set {
		all[i] = of(e)
	}
	return all
}

// octet is the form of an element of bytes.
var octet = &Wire{Type: "N", Number: "uint8"}

func (c *check) list(w *Wire, all []types.AttributeValue, path string) *Misfit {
	of := w.Of
	if w.Type == "B" {
		of = octet
	}
	if of == nil {
		return nil
	}
	if w.Len > 0 {
		all = all[:min(w.Len, len(all))]
	}
	for i, e := range all {
		if m := c.value(of, e, fmt.Sprintf("%s[%d]", path, i)); m != nil {
			return m
		}
	}
	return nil
}

func (c *check) entries(w *Wire, all map[string]types.AttributeValue, path string) *Misfit {
	for i := range w.Fields {
		f := &w.Fields[i]
		if v := all[f.Name]; v != nil {
			if m := c.value(&f.Wire, v, path+"."+f.Name); m != nil {
				return m
			}
		}
	}
	if w.Of == nil {
		return nil
	}
	for _, v := range all {
		if m := c.value(w.Of, v, path+"[...]"); m != nil {
			return m
		}
	}
	return nil
}

// cut returns the fault of a list that an array does not hold.
func cut(w *Wire, v types.AttributeValue) string {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberSS:
		n = len(v.Value)
	case *types.AttributeValueMemberNS:
		n = len(v.Value)
	case *types.AttributeValueMemberBS:
		n = len(v.Value)
	}
	if w.Len > 0 && n > w.Len {
		return fmt.Sprintf("has %d elements, and not %d", n, w.Len)
	}
	return ""
}

// unread returns the fault of a value that does not decode.
func (c *check) unread(w *Wire, v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return ""
	case *types.AttributeValueMemberS:
		return c.unreadText(w, v.Value)
	case *types.AttributeValueMemberN:
		return c.unreadNumber(w, v.Value)
	case *types.AttributeValueMemberB:
		switch {
		case w.Type == "any":
			return ""
		case w.Type == "B" && w.Len > 0 && len(v.Value) != w.Len:
			return fmt.Sprintf("has %d bytes, and not %d", len(v.Value), w.Len)
		}
	case *types.AttributeValueMemberL, *types.AttributeValueMemberSS, *types.AttributeValueMemberNS,
		*types.AttributeValueMemberBS:
		switch w.Type {
		case "L", "SS", "NS", "BS", "B", "any":
			return ""
		}
	case *types.AttributeValueMemberM:
		switch {
		case w.Type == "M":
			return c.unreadKeys(w, v.Value)
		case w.Format == "time" || w.Format == "unixtime": // time.Time is a struct, and reads no field
			return ""
		}
	}
	if w.Type == attr.TypeName(v) || w.Type == "any" {
		return ""
	}
	return wrongType(w, v)
}

func wrongType(w *Wire, v types.AttributeValue) string {
	return fmt.Sprintf("is of type %s, and not %s", attr.TypeName(v), w.Type)
}

func (c *check) unreadText(w *Wire, text string) string {
	switch {
	case w.Format == "unixtime" && w.Number != "":
		return c.outOf(w, text)
	case w.Format == "time" || w.Format == "unixtime":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "is not a time of RFC 3339"
		}
		return ""
	case w.Format == "number":
		return c.outOf(w, text)
	case w.Type == "S", w.Type == "N" && w.Number == "": // a number that is a text in Go
		return ""
	}
	return wrongType(w, &types.AttributeValueMemberS{})
}

func (c *check) unreadNumber(w *Wire, text string) string {
	switch {
	case w.Format == "time" || w.Format == "unixtime":
		return c.outOf(&Wire{Number: "int64"}, text)
	case w.Type == "N" || w.Format == "number":
		return c.outOf(w, text)
	case w.Type == "S", w.Type == "any":
		return ""
	}
	return wrongType(w, &types.AttributeValueMemberN{})
}

// outOf returns the fault of a number's text that the Go type of a form does not hold.
func (c *check) outOf(w *Wire, text string) string {
	kind, bits := w.Number, 64
	for i, digit := range w.Number {
		if digit >= '0' && digit <= '9' {
			kind = w.Number[:i]
			bits, _ = strconv.Atoi(w.Number[i:])
			break
		}
	}
	var err error
	switch kind {
	case "int":
		_, err = strconv.ParseInt(text, 10, bits)
	case "uint":
		_, err = strconv.ParseUint(text, 10, bits)
	case "float":
		_, err = strconv.ParseFloat(text, bits)
		// attributevalue refuses a number that is rounded to the maximum
		if n, _ := strconv.ParseFloat(text, 64); c.opaque && bits == 32 && math.Abs(n) > math.MaxFloat32 {
			err = strconv.ErrRange
		}
	case "bigint":
		if _, digits, exp, ok := key.Decimal(text); !ok || exp < len(digits) {
			return "is not an integer"
		}
	case "bigfloat":
		if _, _, _, ok := key.Decimal(text); !ok {
			return "is not a number"
		}
	default:
		if _, number := strconv.ParseFloat(text, 64); w.Type == "any" && number != nil {
			return "is not a number"
		}
	}
	switch _, digits, exp, ok := key.Decimal(text); {
	case err == nil:
		return ""
	case !ok:
		return "is not a number"
	case kind != "float" && exp < len(digits):
		return "is not an integer"
	}
	return "is not in the range of " + w.Number
}

// unreadKeys returns the fault of a map whose keys do not decode.
func (c *check) unreadKeys(w *Wire, all map[string]types.AttributeValue) string {
	if w.Of == nil {
		return ""
	}
	for name := range all {
		switch {
		case w.Number != "":
			if reason := c.outOf(w, name); reason != "" {
				return "has a key that " + reason
			}
		case w.Key == "bool":
			if _, err := strconv.ParseBool(name); err != nil {
				return "has a key that is not true or false"
			}
		}
	}
	return ""
}
