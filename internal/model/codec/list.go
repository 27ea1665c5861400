package codec

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request/wire"
)

// List is the way to the elements of a slice or array.
type List struct {
	// Elem is the form of the elements.
	Elem *Form
	len  func(p any) int
	// at returns a pointer to an element.
	at func(p any, i int) any
	// isNil and make are nil for arrays. make sets the value to a slice of that length
	// and room, nil for a negative length.
	isNil func(p any) bool
	make  func(p any, length, room int)
	// grow appends a zero element.
	grow func(p any)
	// equal is nil, or compares two slices with the comparison function of their elements; decided is false if
	// they have none.
	equal func(a, b any) (equal, decided bool)
}

// listForm completes the form of a slice or array.
func listForm(f *Form, l *List) *Form {
	f.List = l
	sets := f.Type == byteSlices
	f.encode = func(p any, o Options, depth int) (types.AttributeValue, error) {
		if sets && o&BinarySet == 0 {
			o |= BinarySet // attributevalue makes a set of just this type, whatever the tag says
		}
		return l.encode(p, o, depth)
	}
	f.decode, f.scan, f.exact = l.decode, l.scan, l.exact(f)
	if f.Type.Kind() == reflect.Slice && l.Elem.text {
		f.sets(setTexts)
	}
	f.same, f.clone = l.same, l.clone
	if l.isNil != nil {
		f.isZero = l.isNil
	}
	return f
}

func (l *List) encode(p any, o Options, depth int) (types.AttributeValue, error) {
	if nothing := l.isNil != nil && l.isNil(p); nothing || l.isNil == nil && l.len(p) == 0 {
		if av, done := o.empty(nothing); done {
			return av, nil
		}
	}
	if depth >= attr.MaxDepth {
		return nil, errDeep
	}
	if o&(StringSet|NumberSet|BinarySet) != 0 {
		return l.encodeSet(p, o, depth)
	}
	n := l.len(p)
	all := make([]types.AttributeValue, 0, n)
	for i := range n {
		av, err := l.Elem.encode(l.at(p, i), o.Elem(), depth+1)
		if err != nil {
			return nil, err
		}
		if av != nil {
			all = append(all, av)
		}
	}
	return &types.AttributeValueMemberL{Value: all}, nil
}

func (l *List) encodeSet(p any, o Options, depth int) (types.AttributeValue, error) {
	n := l.len(p)
	if n == 0 {
		return null(), nil
	}
	set := &setBuilder{o: o}
	for i := range n {
		av, err := l.Elem.encode(l.at(p, i), o.Elem(), depth+1)
		if err == nil && av != nil {
			err = set.add(av)
		}
		if err != nil {
			return nil, err
		}
	}
	return set.value(), nil
}

// setBuilder collects the members of a set. As in attributevalue, binary goes before
// number, and number before string.
type setBuilder struct {
	o     Options
	bytes [][]byte
	texts []string
}

func (s *setBuilder) add(av types.AttributeValue) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberB:
		if s.o&BinarySet != 0 && av.Value != nil {
			s.bytes = append(s.bytes, av.Value)
			return nil
		}
	case *types.AttributeValueMemberN:
		if s.o&(BinarySet|NumberSet) == NumberSet {
			s.texts = append(s.texts, av.Value)
			return nil
		}
	case *types.AttributeValueMemberS:
		if s.o&(BinarySet|NumberSet|StringSet) == StringSet {
			s.texts = append(s.texts, av.Value)
			return nil
		}
	}
	switch {
	case s.o&BinarySet != 0:
		return errors.New("marshal failed, binary set must only contain non-nil byte slices")
	case s.o&NumberSet != 0:
		return errors.New("marshal failed, number set must only contain non-nil string numbers")
	}
	return errors.New("marshal failed, string set must only contain non-nil strings")
}

func (s *setBuilder) value() types.AttributeValue {
	switch {
	case s.o&BinarySet != 0:
		return &types.AttributeValueMemberBS{Value: s.bytes}
	case s.o&NumberSet != 0:
		return &types.AttributeValueMemberNS{Value: s.texts}
	}
	return &types.AttributeValueMemberSS{Value: s.texts}
}

// decode decodes lists, and sets of big numbers; attributevalue decodes other sets, and other values. As
// there, a list that is too long or too short for an array is no error.
func (l *List) decode(p any, av types.AttributeValue, o Options) error {
	var from []types.AttributeValue
	switch set, ok := av.(*types.AttributeValueMemberNS); {
	case ok && isBig(l.Elem.Type):
		for _, n := range set.Value {
			from = append(from, &types.AttributeValueMemberN{Value: n})
		}
	default:
		list, ok := av.(*types.AttributeValueMemberL)
		if !ok {
			return fallback(p, av, o)
		}
		from = list.Value
	}
	n := len(from)
	if l.make != nil {
		l.make(p, n, n)
	} else {
		n = min(n, l.len(p))
	}
	for i := range n {
		if err := l.Elem.decode(l.at(p, i), from[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// scan is decode of a list from the wire.
func (l *List) scan(p any, v wire.Value, _ Options) (bool, error) {
	if v.Kind() != wire.L {
		return false, nil
	}
	n := v.Len()
	if l.make != nil {
		l.make(p, n, n)
	} else {
		n = min(n, l.len(p))
	}
	for i := range n {
		if err := l.Elem.Scan(l.at(p, i), v.At(i), 0); err != nil {
			return true, err
		}
	}
	return true, nil
}

// setTexts is set of a slice of strings.
func setTexts(p unsafe.Pointer, v wire.Value, _ Options) bool {
	if v.Kind() != wire.L {
		return false
	}
	all := make([]string, v.Len())
	for i := range all {
		e := v.At(i)
		if e.Kind() != wire.S {
			return false
		}
		all[i] = e.String()
	}
	*(*[]string)(p) = all
	return true
}

func (l *List) same(a, b any, _ Options) bool {
	n := l.len(a)
	if l.isNil != nil && (l.isNil(a) != l.isNil(b) || n != l.len(b)) {
		return false
	}
	for i := range n {
		if !l.Elem.Same(l.at(a, i), l.at(b, i), 0) {
			return false
		}
	}
	return true
}

func (l *List) clone(dst, src any) {
	n := l.len(src)
	if l.make != nil {
		if l.isNil(src) {
			l.make(dst, -1, 0)
			return
		}
		l.make(dst, n, n)
	}
	for i := range n {
		l.Elem.Clone(l.at(dst, i), l.at(src, i))
	}
}

// Len returns the number of elements.
func (l *List) Len(p any) int { return l.len(p) }

// At returns a pointer to an element.
func (l *List) At(p any, i int) any { return l.at(p, i) }

// Equal reports whether two slices have the same elements, by the function that is given
// with the elements' type; known is false where there is none.
func (l *List) Equal(a, b any) (equal, decided bool) {
	if l.equal == nil {
		return false, false
	}
	return l.equal(a, b)
}

// Reset makes a slice empty, with room for n elements: nil for none.
func (l *List) Reset(p any, n int) {
	if n == 0 {
		l.make(p, -1, 0)
		return
	}
	l.make(p, 0, n)
}

// Append adds a zero element, and returns a pointer to it.
func (l *List) Append(p any) any {
	l.grow(p)
	return l.at(p, l.len(p)-1)
}
