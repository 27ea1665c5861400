package codec

import "reflect"

// Path is the way from a struct to a field in it, perhaps through structs and pointers.
// The empty Path ends where it begins.
type Path struct {
	steps []step
	// direct is the path if it has no pointer, nil otherwise.
	direct func(p any) any
}

// step is one field on the way. pointer is set where it is a pointer that the way goes
// through.
type step struct {
	at      func(p any) any
	pointer *Pointer
}

// Path returns the way to a field of the struct by the indexes of the declared fields on
// it, and the field's form.
func (f *Form) Path(indexes []int) (Path, *Form) {
	var x Path
	for n, i := range indexes {
		if f.Table == nil {
			f = reflectedOf(f.Type)
		}
		row := f.Table.row(i)
		s := step{at: row.At}
		f = row.Form
		if f.Pointer != nil && n < len(indexes)-1 {
			s.pointer = f.Pointer
			f = f.Pointer.Elem
		}
		x.steps = append(x.steps, s)
	}
	x.direct = direct(x.steps)
	return x, f
}

// offset returns where a field is in the struct, by the indexes of the declared fields on the way; ok is false if one
// of them is a pointer.
func (f *Form) offset(indexes []int) (offset uintptr, ok bool) {
	t := f.Type
	for _, i := range indexes {
		if t.Kind() != reflect.Struct {
			return 0, false
		}
		field := t.Field(i)
		offset, t = offset+field.Offset, field.Type
	}
	return offset, true
}

// direct returns the path as one function, nil if the path has pointers.
func direct(steps []step) func(p any) any {
	switch {
	case len(steps) == 1 && steps[0].pointer == nil:
		return steps[0].at
	case len(steps) == 2 && steps[0].pointer == nil && steps[1].pointer == nil:
		first, second := steps[0].at, steps[1].at
		return func(p any) any { return second(first(p)) }
	}
	return nil
}

// At returns a pointer to the field, nil where a pointer on the way is nil.
func (x *Path) At(p any) any {
	if x.direct != nil {
		return x.direct(p)
	}
	for i := range x.steps {
		s := &x.steps[i]
		p = s.at(p)
		if s.pointer != nil {
			if p = s.pointer.load(p); p == nil {
				return nil
			}
		}
	}
	return p
}

// Make is At for a field to be set: it makes the structs on the way.
func (x *Path) Make(p any) any {
	if x.direct != nil {
		return x.direct(p)
	}
	for i := range x.steps {
		s := &x.steps[i]
		p = s.at(p)
		if s.pointer != nil {
			p = s.pointer.Allocate(p)
		}
	}
	return p
}

// Present reports of a way through pointers which of them decides whether something is
// at its end: decided says that one does, and present what. The pointers among the first
// place steps do not decide by being there, since other items may have made them.
func (x Path) Present(p any, place int) (present, decided bool) {
	for i := range x.steps {
		s := &x.steps[i]
		p = s.at(p)
		if s.pointer == nil {
			continue
		}
		if p = s.pointer.load(p); p == nil {
			return false, true
		}
		if i+1 >= place {
			return true, true
		}
	}
	return false, false
}

// ClearAs sets the pointer of the path in dst to nil that is nil in src. If the pointer is among the
// first place steps, other items may have created its target. Then only the field at the end, of the
// form f, is cleared.
func (x Path) ClearAs(dst, src any, place int, f *Form) {
	whole := dst
	for i := range x.steps {
		s := &x.steps[i]
		src, dst = s.at(src), s.at(dst)
		if s.pointer == nil {
			continue
		}
		if src = s.pointer.load(src); src == nil {
			if i+1 >= place {
				s.pointer.store(dst, nil)
			} else if leaf := x.At(whole); leaf != nil {
				f.Clear(leaf)
			}
			return
		}
		if dst = s.pointer.load(dst); dst == nil {
			return
		}
	}
}
