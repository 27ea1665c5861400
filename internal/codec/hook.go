package codec

// AfterLoad calls the method of that name of the struct at p, if it has one: what was decoded may be
// completed there, before it is remembered as it is stored.
func AfterLoad(p any) {
	if h, ok := p.(interface{ AfterLoad() }); ok {
		h.AfterLoad()
	}
}
