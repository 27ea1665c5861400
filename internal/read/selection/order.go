package selection

import (
	"cmp"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// orderRange is the range of the values of a placeholder. It is the one place that makes bounds of values, for
// tables and for indexes. A bound that the format cannot hold excludes nothing, or everything.
type orderRange struct {
	template *key.Template
	// parts are the parts of the template before the placeholder, and text is what they make.
	parts int
	text  string
	// more reports that other keys begin with keys of the template: the range has them too.
	more bool
}

func (r *orderRange) of(o Order) (Range, error) {
	if o.Err != nil {
		return Range{}, o.Err
	}
	f := r.template.Parts[r.parts].Format
	from, to := o.From, o.To
	switch {
	case o.Begin != "":
		low, err := r.write(&key.Value{Kind: key.String, Text: o.Begin})
		return Range{Kind: Prefix, Low: r.scalar(low)}, err
	case from != nil && f.Beyond(*from) > 0, to != nil && f.Beyond(*to) < 0:
		return Range{Kind: None}, nil
	}
	low, err := r.write(from)
	if err != nil {
		return Range{}, err
	}
	high, err := r.write(to)
	if err != nil {
		return Range{}, err
	}
	if low != "" && high != "" && key.Compare(r.scalar(high), r.scalar(low)) < 0 {
		return Range{Kind: None}, nil
	}
	return r.between(low, high), nil
}

func (r *orderRange) scalar(text string) key.Scalar {
	return key.Scalar{Type: r.template.Type, Text: text}
}

// write returns the text of a bound, "" for none.
func (r *orderRange) write(v *key.Value) (string, error) {
	f := r.template.Parts[r.parts].Format
	if v == nil || f.Beyond(*v) != 0 {
		return "", nil
	}
	b, err := f.Append(nil, *v, r.template.Delim)
	s := r.text + string(b)
	if err == nil {
		err = r.scalar(s).CheckSize(key.MaxSort)
	}
	return s, err
}

// between returns the range from one key to another, "" for no bound.
func (r *orderRange) between(low, high string) Range {
	if width, fixed := r.template.Parts[r.parts].Format.Fixed(); fixed && (low != "" || high != "") {
		low = cmp.Or(low, r.text+strings.Repeat("0", width))
		high = through(r.template.Parts[r.parts+1:], cmp.Or(high, r.text+strings.Repeat("9", width)), r.more)
	}
	switch {
	case low == "" && high == "" && r.text == "":
		return Range{Kind: All}
	case low == "" && high == "":
		return Range{Kind: Prefix, Low: r.scalar(r.text)}
	case high == "" && r.text == "":
		return Range{Kind: AtLeast, Low: r.scalar(low)}
	case low == "" && r.text == "":
		return Range{Kind: AtMost, High: r.scalar(high)}
	case high == "":
		high = after(r.text)
	}
	return Range{Kind: Between, Low: r.scalar(cmp.Or(low, r.text)), High: r.scalar(high)}
}

// through returns the last key of a range whose last value is the end of a text. The rest of the template
// follows the value. more is described at orderRange.
func through(rest []key.Part, text string, more bool) string {
	switch {
	case len(rest) > 0 && rest[0].Text != "":
		return after(text + rest[0].Text[:1])
	case len(rest) > 0 || more:
		return text + "\U0010FFFF"
	}
	return text
}

// begins reports whether keys of other items can begin with the keys of an item.
func begins(e *schema.Entity, it *schema.Item) bool {
	t := it.Key.Template
	values := make([]key.Value, len(it.Key.Sources))
	for i := range values {
		values[i] = it.Key.Format(i).Sample()
	}
	text, err := t.Append(nil, len(t.Parts), values)
	return err == nil && t.Type == 'S' && slices.ContainsFunc(e.Items, func(o *schema.Item) bool {
		return o != it && o.Table == it.Table && o.Key.Template.CanBegin(string(text))
	})
}
