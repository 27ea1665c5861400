package schema

// hooks refuses methods AfterLoad of stored structs that are not called, or would change a copy.
func (b *builder) hooks() {
	seen := map[*Type]bool{}
	var look func(t *Type)
	look = func(t *Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		b.e.Hooks = b.e.Hooks || t.Hook
		if t.WrongHook {
			b.fault(place{in: t}, "declare func (x *"+baseName(t.Name)+") AfterLoad()",
				"its method AfterLoad would not be called after a load, or would change a copy")
		}
		look(t.Elem)
		if t.Marshals || t.Time {
			return
		}
		for _, f := range t.Fields {
			if (f.Exported || f.Embedded) && !b.parse(t, f).Skip {
				look(f.Type)
			}
		}
	}
	look(b.e.Type)
}
