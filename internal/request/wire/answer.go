package wire

import smithy "github.com/aws/smithy-go"

// Operation is a read whose answers hold items.
type Operation struct {
	// name is the answer's member that holds them.
	name string
	// items reads the member, and returns the text that replaces it in the rest for the SDK.
	items func(r *reader) (rest string, ok bool)
}

// The operations. In the rest for the SDK, an empty list replaces a list of items, and an empty item an
// item.
var (
	Query        = &Operation{"Items", readItems}
	GetItem      = &Operation{"Item", readItem}
	BatchGetItem = &Operation{"Responses", readTables}
)

func readItems(r *reader) (rest string, ok bool) {
	r.page.Items, ok = r.items()
	return "[]", ok
}

func readItem(r *reader) (rest string, ok bool) {
	it, ok := r.item()
	if ok && len(it.Shape.Names) > 0 {
		r.page.Items = append(r.page.Items[:0], it)
	}
	return "{}", ok
}

// readTables reads an object of tables' names with arrays of items.
func readTables(r *reader) (_ string, ok bool) {
	r.page.Tables = map[string][]Item{}
	if !r.is('{') {
		return "", false
	}
	rest := []byte{'{'}
	for more := !r.is('}'); more; {
		r.space()
		from := r.i
		name, escaped, ok := r.quoted()
		if _, twice := r.page.Tables[string(name)]; !ok || escaped || twice {
			return "", false
		}
		rest = append(append(rest, r.b[from:r.i]...), ":[]"...)
		if !r.is(':') {
			return "", false
		}
		items, ok := r.items()
		if !ok {
			return "", false
		}
		r.page.Tables[string(name)] = items
		if more = r.is(','); more {
			rest = append(rest, ',')
		} else if !r.is('}') {
			return "", false
		}
	}
	return string(append(rest, '}')), true
}

// read reads the answer in a page's body: its items, and its other fields, which are set in out. If the
// answer has fields that are unknown here, rest is the text for the SDK. ok is false if the SDK must
// decode the whole answer, which may be valid.
func (o *Operation) read(p *Page, out smithy.Deserializable) (rest []byte, ok bool) {
	body := p.body
	if int64(len(body)) > maxBody {
		return nil, false
	}
	r := newReader(p)
	defer r.release()
	var cut [2]int // the bytes of the items
	var t response
	var instead string
	ok = r.fields(func(name []byte) (ok bool) {
		from := r.i
		if string(name) == o.name {
			instead, ok = o.items(r)
			cut = [2]int{from, r.i}
			return ok
		}
		if t.field(&r.scanner, name) {
			r.count = int(t.count)
			return true
		}
		r.i, t.more = from, true
		return r.skip(0)
	})
	if r.space(); !ok || r.i < len(body) {
		return nil, false
	}
	if !t.more && t.into(out, cut[1] > 0) {
		return nil, true
	}
	rest = make([]byte, 0, cut[0]+len(instead)+len(body)-cut[1])
	return append(append(append(rest, body[:cut[0]]...), instead...), body[cut[1]:]...), true
}
