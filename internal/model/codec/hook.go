package codec

// AfterLoad calls the method AfterLoad of the struct at p, if it has one. The method can complete a
// decoded value before the snapshot remembers it.
func AfterLoad(p any) {
	if h, ok := p.(interface{ AfterLoad() }); ok {
		h.AfterLoad()
	}
}
