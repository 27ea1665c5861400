package discover

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// need is the form of a value that a model has in keys of tables or indexes, or as an expiry.
type need struct {
	// kind is that of a schema.LayoutPlaceholder.
	kind string
	// seconds are times as a number, and quoted are numbers as text.
	seconds, quoted bool
	// most is the largest integer.
	most uint64
	// years, months and days are the step between two times whose keys differ: all zero for a second.
	years, months, days int
	// tenDigits are times whose seconds have ten digits.
	tenDigits bool
}

// needs are the forms of values, by their place in a document.
type needs map[place]*need

// place is an attribute or a field. in is its struct or list, "" for the document.
type place struct{ in, name string }

// The names of the elements themselves, and of their keys in a map.
const (
	itself = "."
	mapKey = "{key}"
)

func (n needs) of(in, name string) *need { return n[place{in, name}] }

// needsOf returns what the keys and the expiries of a model need.
func needsOf(l *schema.Layout) needs {
	n := needs{}
	n.key(nil, &l.PartitionKey)
	for i := range l.Items {
		it := &l.Items[i]
		if it.SortKey != nil {
			n.key(it, it.SortKey)
		}
		if it.Kind == "map" && n[place{it.From, mapKey}] == nil { // the key is in no template
			n[place{it.From, mapKey}] = &need{kind: "string", most: math.MaxInt64}
		}
		for _, a := range it.Attributes {
			if a.Field == it.Expiry && it.Expiry != "" {
				x := n.at(firstOf(it.From, a.In), a.Name)
				x.kind, x.seconds = "time", a.Wire.Type == "N" || a.Wire.Type == "own"
			}
		}
	}
	for _, x := range l.Indexes {
		at := slices.IndexFunc(l.Items, func(it schema.LayoutItem) bool {
			return it.Name == x.Item && it.Table == x.Table
		})
		for _, k := range slices.Concat(x.Hash, x.Range) {
			n.key(&l.Items[max(0, at)], &k.LayoutKey)
		}
	}
	return n
}

// at returns the need of a place, also a new one.
func (n needs) at(in, name string) *need {
	x := n[place{in, name}]
	if x == nil {
		x = &need{most: math.MaxInt64}
		n[place{in, name}] = x
	}
	return x
}

// key adds the placeholders of a key of an item; nil for the partition key.
func (n needs) key(it *schema.LayoutItem, k *schema.LayoutKey) {
	for i := range k.Placeholders {
		p := &k.Placeholders[i]
		in, name := "", firstOf(p.Attribute, p.Field)
		switch p.From {
		case "self":
			in, name = it.From, itself
		case "key":
			in, name = it.From, mapKey
		case "item", "element":
			in = it.From
			for _, a := range it.Attributes {
				if a.Field == p.Field {
					in, name = firstOf(it.From, a.In), a.Name
				}
			}
		}
		n.at(in, name).add(p)
	}
}

// add adds the form of a placeholder.
func (n *need) add(p *schema.LayoutPlaceholder) {
	n.kind = p.Kind
	n.seconds = n.seconds || slices.Contains(p.Options, "unixtime")
	n.quoted = n.quoted || slices.Contains(p.Options, "string")
	if bits, err := strconv.Atoi(strings.TrimLeft(p.Number, "uint")); err == nil {
		if strings.HasPrefix(p.Number, "int") {
			bits--
		}
		n.most = min(n.most, 1<<min(bits, 63)-1)
	}
	switch p.Format {
	case "unix":
		n.tenDigits = true
	case "year":
		n.years = 1
	case "month":
		n.months = 1
	case "week":
		n.days = max(n.days, 7)
	case "date":
		n.days = max(n.days, 1)
	}
	if width, ok := strings.CutPrefix(p.Format, "digits "); ok {
		w, _ := strconv.Atoi(width)
		n.most = min(n.most, uint64(math.Pow10(min(w, 18)))-1)
	}
}

// value returns the value number i in order. Its size is as near to size as the form allows.
func (n *need) value(i, size int) types.AttributeValue {
	switch n.kind {
	case "time":
		if n.seconds {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(n.time(i).Unix(), 10)}
		}
		return &types.AttributeValueMemberS{Value: timeText(n.time(i), size)}
	case "int", "uint", "number":
		if n.quoted {
			return &types.AttributeValueMemberS{Value: n.integer(i, size)}
		}
		return &types.AttributeValueMemberN{Value: n.integer(i, 2*(size-1))}
	case "bytes":
		return &types.AttributeValueMemberB{Value: []byte(sequential(i, size))}
	}
	return &types.AttributeValueMemberS{Value: sequential(i, size)}
}

// text returns the value number i as the key of a map.
func (n *need) text(i, size int) string {
	switch n.kind {
	case "time":
		return timeText(n.time(i), size)
	case "int", "uint", "number":
		return n.integer(i, size)
	}
	return sequential(i, size)
}

// integer returns the integer number i with a number of digits, if the form allows so many.
func (n *need) integer(i, digits int) string {
	most := cmp.Or(n.most, math.MaxInt64)
	ones, _ := strconv.ParseUint(strings.Repeat("1", min(18, max(1, digits))), 10, 64)
	if v := ones + uint64(i); v <= most {
		return strconv.FormatUint(v, 10)
	}
	return strconv.FormatUint(uint64(i)%most+1, 10)
}

// The years of made times: a key holds four digits of a year, and the last second of a key of ten digits is in 2286.
const firstYear, lastYear, lastUnixYear = 2021, 9999, 2286

// time returns the time number i, so far from the one before it that keys of both differ.
func (n *need) time(i int) time.Time {
	first := time.Date(firstYear, time.November, 14, 0, 0, 0, 0, time.UTC)
	years := lastYear - firstYear
	if n.tenDigits {
		years = lastUnixYear - firstYear
	}
	switch {
	case n.years > 0:
		return first.AddDate(i%years, 0, 0)
	case n.months > 0:
		return first.AddDate(0, i%(12*years), 0)
	case n.days > 0:
		return first.AddDate(0, 0, i*n.days%(365*years))
	}
	return first.Add(time.Duration(i) * time.Second)
}

// timeText returns a time in UTC as attributevalue writes it, with a number of bytes if there is such a text.
func timeText(t time.Time, size int) string {
	const shortest = "2021-11-14T00:00:00Z"
	text := t.Format(strings.TrimSuffix(time.RFC3339, "Z07:00"))
	if digits := min(9, size-len(shortest)-len(".")); digits > 0 {
		text += "." + strings.Repeat("1", digits)
	}
	return text + "Z"
}

// digits is a number of n bytes: it has two digits in each byte but the first.
func digits(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strings.Repeat("1", min(38, max(1, 2*(n-1))))}
}

// text is a text of n bytes, or of none.
func text(n int) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: strings.Repeat("x", max(0, n))}
}

// sequential is a text of a size that sorts by n, as the elements of most lists do. It has at least three characters.
func sequential(n, size int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := []byte(strings.Repeat("0", max(3, size)))
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		b[i] = digits[n%len(digits)]
		n /= len(digits)
	}
	return string(b)
}
