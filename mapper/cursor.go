package mapper

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// macSize is how much of the signature a cursor carries, in bytes.
const macSize = 16

// sealCursor returns the cursor of a position: its JSON and a signature over that and
// over the query, in URL-safe base64. The partition is not in it: a cursor can never
// lead into another.
func (c *core) sealCursor(x *search, p position) query.Cursor {
	b, err := json.Marshal(cursorPosition{string(p.Start.Type), []byte(p.Start.Text), []byte(p.After)})
	if err != nil {
		panic(err) // it holds bytes
	}
	return query.Cursor(base64.RawURLEncoding.EncodeToString(append(b, c.sign(x, b)...)))
}

// cursorPosition is a position as cursors hold it: keys may be any bytes.
type cursorPosition struct {
	Type  string `json:"t"`
	Start []byte `json:"s"`
	After []byte `json:"a,omitempty"`
}

func (c *core) openCursor(x *search, cursor query.Cursor) (position, error) {
	refuse := func() (position, error) {
		return position{}, fmt.Errorf("%s: %w: use the Next of a page of the same query, in the same partition, of a mapper with the same CursorKey", c.schema.Label(), query.ErrCursor)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(cursor))
	if err != nil || len(b) < macSize {
		return refuse()
	}
	b, mac := b[:len(b)-macSize], b[len(b)-macSize:]
	if !hmac.Equal(mac, c.sign(x, b)) {
		return refuse()
	}
	var p cursorPosition
	if err := json.Unmarshal(b, &p); err != nil || len(p.Type) != 1 {
		return refuse()
	}
	return position{Start: key.Scalar{Type: p.Type[0], Text: string(p.Start)}, After: string(p.After)}, nil
}

// sign returns the signature of a cursor: it covers what the query asks for and where.
func (c *core) sign(x *search, payload []byte) []byte {
	part := x.s.Parts[0]
	about, err := json.Marshal(struct {
		Model, Table, Elem string
		Part               selection.Part
		PK, Low, High      []byte // not through strings: they may be any bytes
		Reverse            bool
		Filter             *string
		Names              map[string]string
		Values             []string
		Keep               string
		Projection         []query.Projected
	}{
		c.schema.Label(), c.tables[part.Table], x.r.Elem.String(),
		selection.Part{Table: part.Table, Range: selection.Range{Kind: part.Range.Kind}},
		[]byte(part.PK.String()), []byte(part.Range.Low.String()), []byte(part.Range.High.String()),
		x.o.Reverse, x.filter(), x.names(), x.values(), x.kept(), x.r.Projection,
	})
	if err != nil {
		panic(err) // it holds strings, numbers and times
	}
	mac := hmac.New(sha256.New, c.cursorKey)
	mac.Write(about)
	mac.Write([]byte{0})
	mac.Write(payload)
	return mac.Sum(nil)[:macSize]
}

// kept is the range of instants that the query keeps, in one form for all zones.
func (x *search) kept() string {
	k := x.s.Parts[0].Keep
	if k == nil {
		return ""
	}
	return fmt.Sprint(k.Item, k.Source, k.From.Set, k.From.At.Unix(), k.From.At.Nanosecond(), k.To.Set, k.To.At.Unix(), k.To.At.Nanosecond())
}

func (x *search) filter() *string {
	if x.o.Expr == nil {
		return nil
	}
	return x.o.Expr.Filter
}

func (x *search) names() map[string]string {
	if x.o.Expr == nil {
		return nil
	}
	return x.o.Expr.Names
}

func (x *search) values() []string {
	if x.o.Expr == nil {
		return nil
	}
	var out []string
	for name, v := range x.o.Expr.Values {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // attribute values hold strings, bytes and bools
		}
		out = append(out, fmt.Sprintf("%s %T %s", name, v, b))
	}
	slices.Sort(out)
	return out
}
