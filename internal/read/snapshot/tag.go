package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
)

// Tag is the state of the items of a selection, for a token that a client keeps, such as an entity tag
// of HTTP. It has, for each item, a digest of its key, and its version.
type Tag struct {
	// entity is a digest of the entity's key, selection one of the selection: zero for the whole entity.
	entity    [placeSize]byte
	selection [selectionSize]byte
	entries   []tagEntry
	// digest represents the entries of more items than a token has room for.
	digest []byte
}

type tagEntry struct {
	place   [placeSize]byte
	exact   bool // the version, and not a digest
	version [item.TokenSize]byte
	// at is the item's key, and field its field; both are empty in a parsed tag.
	at    item.Place
	field string
}

// Sizes in a token, in bytes.
const (
	selectionSize = 4
	placeSize     = 6
	headSize      = 1 + placeSize + selectionSize
	entrySize     = placeSize + 1 + item.TokenSize
	// maxTagged is how many items have entries of their own: their token has 1,280 bytes.
	maxTagged = 64
)

// Forms of a token, by its first byte.
const (
	tagOfItems  = 1
	tagOfDigest = 2
)

// Tag returns the state of the stored items that have not expired.
func (s *Snapshot) Tag() *Tag {
	now := s.Model.Now()
	t := &Tag{selection: selectionDigest(&s.Selection)}
	if at, err := s.Model.RootPlace(s.Selection.Identity); err == nil {
		t.entity = placeDigest(at)
	}
	for i, all := range s.Items {
		for _, r := range all {
			if r.Header.Expired(now) {
				continue
			}
			e := tagEntry{place: placeDigest(r.Place), at: r.Place, field: s.Model.Schema.Items[i].Name}
			v, ok := r.Header.Version.(*types.AttributeValueMemberB)
			switch {
			case ok && len(v.Value) == item.TokenSize:
				e.exact = true
				copy(e.version[:], v.Value)
			case r.Header.Version != nil:
				copy(e.version[:], attr.Hash(item.Attributes{"v": r.Header.Version}))
			default:
				copy(e.version[:], attr.Hash(r.Raw))
			}
			t.entries = append(t.entries, e)
		}
	}
	slices.SortFunc(t.entries, func(a, b tagEntry) int { return bytes.Compare(a.place[:], b.place[:]) })
	return t
}

func placeDigest(p item.Place) (d [placeSize]byte) {
	sum := sha256.Sum256([]byte(p.Table.Name + "\x00" + p.PK.String() + "\x00" + p.SK.String()))
	copy(d[:], sum[:])
	return d
}

// selectionDigest returns the digest of the parts, in whichever order they are.
func selectionDigest(s *selection.Selection) (d [selectionSize]byte) {
	if s.Whole {
		return d
	}
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, fmt.Sprintf("%d %d %q %q %q", p.Table, p.Range.Kind, p.PK.String(), p.Range.Low.String(),
			p.Range.High.String()))
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	copy(d[:], sum[:])
	return d
}

// String returns the token: letters, digits, "-" and "_".
func (t *Tag) String() string {
	b := t.all()
	form := byte(tagOfItems)
	if len(t.entries) > maxTagged {
		form, b = tagOfDigest, t.sum()
	}
	return base64.RawURLEncoding.EncodeToString(slices.Concat([]byte{form}, t.entity[:], t.selection[:], b))
}

func (t *Tag) all() []byte {
	var b []byte
	for _, e := range t.entries {
		b = append(b, e.place[:]...)
		if e.exact {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		b = append(b, e.version[:]...)
	}
	return b
}

func (t *Tag) sum() []byte {
	sum := sha256.Sum256(t.all())
	return sum[:]
}

// ReadTag reads a token, also one in the quotation marks of HTTP. It is nil if nothing has made the token.
func ReadTag(token string) *Tag {
	token = strings.TrimPrefix(token, "W/")
	if n := len(token); n > 1 && token[0] == '"' && token[n-1] == '"' {
		token = token[1 : n-1]
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < headSize || strings.ContainsAny(token, "\r\n") { // which the decoder skips
		return nil
	}
	t := &Tag{entity: [placeSize]byte(b[1:]), selection: [selectionSize]byte(b[1+placeSize:])}
	rest := b[headSize:]
	switch {
	case b[0] == tagOfDigest && len(rest) == sha256.Size:
		t.digest = rest
		return t
	case b[0] != tagOfItems || len(rest)%entrySize != 0:
		return nil
	}
	for ; len(rest) > 0; rest = rest[entrySize:] {
		t.entries = append(t.entries, tagEntry{
			place: [placeSize]byte(rest), exact: rest[placeSize] == 1,
			version: [item.TokenSize]byte(rest[placeSize+1:]),
		})
	}
	return t
}

// Large reports whether the token covers more items than it has versions of.
func (t *Tag) Large() bool { return t.digest != nil }

// OfEntity reports whether the tag is of the entity with a root item at a place.
func (t *Tag) OfEntity(root item.Place) bool { return t.entity == placeDigest(root) }

// OfSelection reports whether the tag is of the selection of a snapshot.
func (t *Tag) OfSelection(s *Snapshot) bool { return t.selection == selectionDigest(&s.Selection) }

// Whole reports whether the tag is of all items of the entity.
func (t *Tag) Whole() bool { return t.selection == [selectionSize]byte{} }

// Version returns the version of the item at a place, nil if the tag has none: has reports whether it has the item.
func (t *Tag) Version(p item.Place) (version types.AttributeValue, has bool) {
	at := placeDigest(p)
	i, has := slices.BinarySearchFunc(t.entries, at,
		func(e tagEntry, at [placeSize]byte) int { return bytes.Compare(e.place[:], at[:]) })
	if !has || !t.entries[i].exact {
		return nil, has
	}
	return new(item.Token).Set(string(t.entries[i].version[:])), true
}

// Tagged is an item that differs from that of a tag: Added reports that the tag does not have it.
type Tagged struct {
	item.Place
	Field string
	Added bool
}

// Differ returns the stored items that differ from those of a tag that was read. same is false if there
// are such, or items of the tag are missing.
func (s *Snapshot) Differ(t *Tag) (items []Tagged, same bool) {
	now := s.Tag()
	if t.digest != nil {
		return nil, bytes.Equal(now.sum(), t.digest)
	}
	same = len(now.entries) == len(t.entries)
	for _, e := range now.entries {
		i, found := slices.BinarySearchFunc(t.entries, e,
			func(a, b tagEntry) int { return bytes.Compare(a.place[:], b.place[:]) })
		if !found || t.entries[i].exact != e.exact || t.entries[i].version != e.version {
			items = append(items, Tagged{e.at, e.field, !found})
		}
	}
	slices.SortFunc(items, func(a, b Tagged) int {
		return cmp.Or(cmp.Compare(a.Table.Index, b.Table.Index), cmp.Compare(a.SK.Text, b.SK.Text))
	})
	return items, same && len(items) == 0
}
