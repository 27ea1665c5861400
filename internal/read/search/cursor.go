package search

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
)

// ErrCursor says that a cursor is not one of this query, partition and mapper, or was
// changed.
var ErrCursor = errors.New("itemize: invalid cursor")

// saltSize is the size of a cursor's salt, in bytes.
const saltSize = 8

// sealCursor returns the cursor of a position: its JSON, encrypted with AES-256-GCM and bound to the
// query, in URL-safe base64. The key is derived from the mapper's CursorKey and a salt, since one key
// with random nonces may seal no more than 2^32 messages (NIST SP 800-38D). The partition is not in the
// cursor: it can never lead into another.
func (x *Search) sealCursor(p Position) string {
	at := cursorPosition{Type: string(p.Start.Type), Start: []byte(p.Start.Text), After: []byte(p.After)}
	if p.PK.Type != 0 || p.Period != "" {
		at.Shard = &cursorShard{
			string(p.PK.Type), []byte(p.PK.Text), p.Period, string(p.Order.Type),
			[]byte(p.Order.Text),
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Keys)) {
		s, _ := attr.ScalarOf(p.Keys[name])
		at.Keys = append(at.Keys, cursorKey{name, string(s.Type), []byte(s.Text)})
	}
	b, err := json.Marshal(at)
	if err != nil {
		panic(err) // it holds bytes
	}
	salt := make([]byte, saltSize)
	rand.Read(salt) // never returns an error
	return base64.RawURLEncoding.EncodeToString(x.cipher(salt).Seal(salt, nil, b, x.about()))
}

// cipher returns the cipher for one cursor.
func (x *Search) cipher(salt []byte) cipher.AEAD {
	k, err := hkdf.Key(sha256.New, x.CursorKey, salt, "itemize cursor", 32)
	if err != nil {
		panic(err) // 32 bytes are few
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has blocks of 16 bytes
	}
	return aead
}

// cursorPosition is a position as cursors hold it: keys may be any bytes.
type cursorPosition struct {
	Type  string `json:"t"`
	Start []byte `json:"s"`
	After []byte `json:"a,omitempty"`
	// Keys are those of an item in a secondary index.
	Keys []cursorKey `json:"k,omitempty"`
	// Shard is, of a query over shards, the shard of the last hit, and the key that it came with.
	Shard *cursorShard `json:"h,omitempty"`
}

type cursorShard struct {
	PKType string `json:"k"`
	PK     []byte `json:"p"`
	Period string `json:"d,omitempty"`
	Type   string `json:"t"`
	Text   []byte `json:"s"`
}

type cursorKey struct {
	Name string `json:"n"`
	Type string `json:"t"`
	Text []byte `json:"s"`
}

func (x *Search) openCursor(cursor string) (Position, error) {
	refuse := func() (Position, error) {
		return Position{}, fmt.Errorf("%s: the cursor is not of this query (%w): use the Next of a page of the "+
			"same query, in the same partition, of a mapper with the same CursorKey", x.Model.Label(), ErrCursor)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < saltSize {
		return refuse()
	}
	if b, err = x.cipher(b[:saltSize]).Open(nil, nil, b[saltSize:], x.about()); err != nil {
		return refuse()
	}
	var p cursorPosition
	if err := json.Unmarshal(b, &p); err != nil || len(p.Type) > 1 {
		return refuse()
	}
	at := Position{After: string(p.After)}
	if s := p.Shard; s != nil {
		at.PK, at.Order = key.Scalar{Type: s.PKType[0], Text: string(s.PK)},
			key.Scalar{Type: s.Type[0], Text: string(s.Text)}
		if at.Period = s.Period; !slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.PK == at.PK }) {
			return refuse()
		}
	}
	if p.Type != "" {
		at.Start = key.Scalar{Type: p.Type[0], Text: string(p.Start)}
	}
	for _, k := range p.Keys {
		if at.Keys == nil {
			at.Keys = item.Attributes{}
		}
		at.Keys[k.Name] = attr.ValueOf(key.Scalar{Type: k.Type[0], Text: string(k.Text)})
	}
	return at, nil
}

// about returns what a cursor is bound to: what the query asks for, and where.
func (x *Search) about() []byte {
	part := x.asked
	about, err := json.Marshal(struct {
		Model, Table, Elem string
		Part               selection.Part
		PK, Low, High      []byte // not through strings: they may be any bytes
		Reverse, Roots     bool
		KeysOnly           bool
		Filter             *string
		Names              map[string]string
		Values             []string
		Keep               string
		Projection         []Projected
		Scope              string
		Fetch              bool
	}{
		x.Model.Label(), x.Model.Tables[part.Table].Name, x.r.Elem.String(),
		selection.Part{Table: part.Table, Range: selection.Range{Kind: part.Range.Kind}},
		[]byte(part.PK.String()), []byte(part.Range.Low.String()), []byte(part.Range.High.String()),
		x.o.Reverse, x.r.Roots, x.r.KeysOnly, x.filter(), x.names(), x.values(), x.timeRange(), x.r.Projection,
		x.scope(), x.r.Fetch,
	})
	if err != nil {
		panic(err) // it holds strings, numbers and times
	}
	return about
}

// timeRange is the range of instants that the query keeps, in one form for all zones.
func (x *Search) timeRange() string {
	k := x.s.Parts[0].Keep
	if k == nil {
		return ""
	}
	return fmt.Sprint(k.Item, k.Source, k.From.Set, k.From.At.Unix(), k.From.At.Nanosecond(), k.To.Set, k.To.At.Unix(),
		k.To.At.Nanosecond())
}

// scope is the range of a secondary index that the query is in, "" for none: in one form, whatever
// bytes its keys hold.
func (x *Search) scope() string {
	w := x.in()
	if w == nil {
		return ""
	}
	text := fmt.Sprintf("%q %d", w.Entry.Index.Name, w.Entry.Item.Index)
	for _, s := range slices.Concat(w.Hash, w.Equal) {
		text += fmt.Sprintf(" %c%q", s.Type, s.Text)
	}
	text += fmt.Sprintf(" %d %d %q %q", len(w.Hash), w.Range.Kind, w.Range.Low.Text, w.Range.High.Text)
	if k := w.Keep; k != nil {
		text += fmt.Sprint(" ", k.Derived, k.Source, k.From.Set, k.From.At.Unix(), k.From.At.Nanosecond(), k.To.Set,
			k.To.At.Unix(), k.To.At.Nanosecond())
	}
	return text
}

func (x *Search) filter() *string {
	if x.o.Expr == nil {
		return nil
	}
	return x.o.Expr.Filter
}

func (x *Search) names() map[string]string {
	if x.o.Expr == nil {
		return nil
	}
	return x.o.Expr.Names
}

func (x *Search) values() []string {
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
