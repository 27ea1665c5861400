package codegen

import (
	"fmt"

	"github.com/itemize/itemize/internal/schema"
)

// cloneFunc copies what equalFunc compares.
func (r *recordWriter) cloneFunc() {
	r.p("func %sClone(dst, src *%s) {", r.fn, r.rec)
	if r.it.Pointer {
		r.clonePointer()
	}
	for _, a := range r.it.Attributes {
		if !a.Opaque {
			r.cloneAttribute(a)
		}
	}
	for i, src := range r.named() {
		if src != nil {
			r.cloneKey(*src, i)
		}
	}
	if e := r.it.Expiry; e != nil && !r.it.ExpiryOfRoot {
		at := r.at(*e)
		r.ifThere(at, func() { r.clone(e.Type, at.of("dst"), at.of("src")) })
	}
	r.p("}\n")
}

// ifThere writes a copy that happens where all pointers on the way are there in src.
func (r *recordWriter) ifThere(at access, copy func()) {
	if there := at.there("src"); there != "" {
		r.p("if %s {", there)
		r.allocate(at, "dst")
		copy()
		r.p("}")
		return
	}
	copy()
}

// clonePointer copies whether the item's pointer is nil, and gives dst a struct of its
// own.
func (r *recordWriter) clonePointer() {
	at := r.at(*r.it.Field)
	for _, p := range at.ptrs {
		r.p("if src%s == nil {", p.sel)
		r.nilIn("dst", at.ptrs, at.of("dst")+" = nil")
		r.p("return\n}")
	}
	r.p("if %s == nil {", at.of("src"))
	r.nilIn("dst", at.ptrs, at.of("dst")+" = nil")
	r.p("return\n}")
	r.allocate(at, "dst")
	r.p("%s = new(%s)", at.of("dst"), r.typ(goType(r.it.Field.Type.Elem)))
}

// cloneAttribute copies an attribute's field, or that a struct on the way is nil.
func (r *recordWriter) cloneAttribute(a *schema.Attribute) {
	at := r.at(a.Value)
	if r.it.Pointer || len(at.ptrs) == 0 {
		r.ifThere(at, func() { r.clone(a.Value.Type, at.of("dst"), at.of("src")) })
		return
	}
	r.p("switch {")
	for i, p := range at.ptrs {
		r.p("case src%s == nil:", p.sel)
		if p.depth < a.Place {
			// Other items may have made the struct: just the field is cleared.
			r.nilIn("dst", at.ptrs, fmt.Sprintf("%s = *new(%s)", at.of("dst"), r.typ(goType(a.Value.Type))))
			continue
		}
		r.nilIn("dst", at.ptrs[:i], "dst"+p.sel+" = nil")
	}
	r.p("default:")
	r.allocate(at, "dst")
	r.clone(a.Value.Type, at.of("dst"), at.of("src"))
	r.p("}")
}

// nilIn writes an assignment that needs pointers to be there.
func (r *recordWriter) nilIn(root string, ptrs []pointer, statement string) {
	if cond := (access{ptrs: ptrs}).there(root); cond != "" {
		r.p("if %s {\n%s\n}", cond, statement)
		return
	}
	r.p("%s", statement)
}

// cloneKey copies a field that the key names; a struct that has a text by that.
func (r *recordWriter) cloneKey(src schema.Source, i int) {
	at := r.at(src.Value)
	t := src.Value.Type
	r.ifThere(at, func() {
		if schema.KeyText(t, r.it.Key.Format(i).Value) && t.Kind == schema.Struct {
			r.p("%s(%s, %s)", r.impl("CloneText"), ref(at.of("dst")), ref(at.of("src")))
			return
		}
		r.clone(t, at.of("dst"), at.of("src"))
	})
}
