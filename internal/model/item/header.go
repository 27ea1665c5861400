package item

import (
	"cmp"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// Reserved names the attributes that the library keeps for itself on the items of one
// model, and reads and writes them:
//
//   - the version, a token that is new at each write of the item and compared by the next;
//   - the expiry: the tables' TTL attribute, in epoch seconds;
//   - the incarnation (_a) of the entity that an item is of;
//   - the stage (_s) of a root, and the mark of an item that a staged insert has put.
type Reserved struct {
	// Version is "" for a model without versions, TTL for one whose items do not expire.
	Version, TTL string
	// State, Incarnation and Moved are "" for the default names.
	State, Incarnation, Moved string
	// Margin is how long after its time to live an item still blocks an insert: the clocks of writers differ by less.
	Margin time.Duration
}

// DefaultMargin is the life of a signature: DynamoDB refuses requests of clocks that differ more from its own, unless
// the SDK corrects them.
const DefaultMargin = 15 * time.Minute

// ReservedOf returns the names of a model.
func ReservedOf(e *schema.Entity) Reserved {
	return Reserved{
		Version: e.Version, TTL: e.TTL, State: e.State, Incarnation: e.Incarnation, Moved: e.Moved,
		Margin: DefaultMargin,
	}
}

// StateName returns the name of the attribute of the stage.
func (r Reserved) StateName() string { return cmp.Or(r.State, schema.DefaultState) }

// IncarnationName returns the name of the attribute of the incarnation.
func (r Reserved) IncarnationName() string { return cmp.Or(r.Incarnation, schema.DefaultIncarnation) }

// MovedName returns the name of the attribute of the record of a migration.
func (r Reserved) MovedName() string { return cmp.Or(r.Moved, schema.DefaultMoved) }

// Header has the values of an item's reserved attributes; nil is an attribute that is not stored.
type Header struct{ Version, Expiry, Stage, Incarnation types.AttributeValue }

// Header returns an item's header.
func (r Reserved) Header(a Attributes) Header {
	h := Header{Stage: a[r.StateName()], Incarnation: a[r.IncarnationName()]}
	if r.Version != "" {
		h.Version = a[r.Version]
	}
	if r.TTL != "" {
		h.Expiry = a[r.TTL]
	}
	return h
}

// Places are the positions of the reserved attributes in items of a shape; -1 is an attribute that is
// not stored.
type Places struct{ Version, Expiry, Stage, Incarnation int }

// Places returns where they are in a shape.
func (r Reserved) Places(s *wire.Shape) Places {
	at := func(name string) int {
		if name == "" {
			return -1
		}
		return s.Index(name)
	}
	return Places{at(r.Version), at(r.TTL), at(r.StateName()), at(r.IncarnationName())}
}

// Has reports whether a name is reserved on items of a kind: the TTL attribute is where
// the kind has an expiry.
func (r Reserved) Has(name string, it *schema.Item) bool {
	return name == r.StateName() || name == r.IncarnationName() || name != "" &&
		(name == r.Version || name == r.TTL && it.Expiry != nil)
}

// Names lists the attribute names that show whether an item exists.
func (r Reserved) Names() []string {
	names := []string{r.IncarnationName(), r.StateName()}
	if r.TTL != "" {
		names = append(names, r.TTL)
	}
	return names
}

// zeroTime is the zero time in epoch seconds: no time to live is over then. (DynamoDB deletes nothing that expired more
// than five years ago; Developer Guide, "Using time to live (TTL)".)
var zeroTime = float64(time.Time{}.Unix())

// Expired reports whether an item's time to live is over, so that DynamoDB may delete it
// at any moment.
func (r Reserved) Expired(a Attributes, now time.Time) bool { return r.Header(a).Expired(now) }

// Expired is described at Reserved.
func (h Header) Expired(now time.Time) bool {
	n, ok := h.Expiry.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && at <= float64(now.Unix()) && at != zeroTime
}

// Replaceable reports whether an insert may replace an item because its time to live is over by every writer's clock.
func (r Reserved) Replaceable(a Attributes, now time.Time) bool {
	return r.Expired(a, now.Add(-r.Margin))
}

// TokenSize is the size of a version token in bytes. Tokens are random: 2^64 of them,
// compared with the one that was read only.
const TokenSize = 8

// IsToken reports whether an attribute value has the form of a token.
func IsToken(v types.AttributeValue) bool {
	b, ok := v.(*types.AttributeValueMemberB)
	return ok && len(b.Value) == TokenSize
}

// Token is a version, or an incarnation: an attribute value together with its bytes.
type Token struct {
	value types.AttributeValueMemberB
	bytes [TokenSize]byte
}

// Set makes it that of bytes, of which there are as many.
func (t *Token) Set(bytes string) *types.AttributeValueMemberB {
	copy(t.bytes[:], bytes)
	t.value.Value = t.bytes[:]
	return &t.value
}

// NewToken returns a new version, or incarnation.
func NewToken() types.AttributeValue {
	var b [TokenSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return new(Token).Set(string(b[:]))
}

// VersionSize returns the size of a version attribute, in bytes: 0 without versions.
func (r Reserved) VersionSize() int {
	if r.Version == "" {
		return 0
	}
	return len(r.Version) + TokenSize
}

// Grows returns the number of bytes by which a write changes the item's header. The write gives the
// item a version; with drop it also removes the mark of a staged insert.
func (r Reserved) Grows(h Header, drop bool) int {
	n := r.VersionSize()
	if n > 0 && h.Version != nil {
		n -= attr.AttributeSize(r.Version, h.Version)
	}
	if drop && h.Stage != nil {
		n -= attr.AttributeSize(r.StateName(), h.Stage)
	}
	return n
}

// Versions reports whether the items have versions, and Expires whether they may expire.
func (r Reserved) Versions() bool { return r.Version != "" }

// Expires is described at Versions.
func (r Reserved) Expires() bool { return r.TTL != "" }

// VersionIs requires the version that was read.
func (r Reserved) VersionIs(x *attr.Expression, version types.AttributeValue) string {
	return x.Name(r.Version) + " = " + x.Value(version)
}

// NoVersion requires an item without one.
func (r Reserved) NoVersion(x *attr.Expression) string {
	return "attribute_not_exists(" + x.Name(r.Version) + ")"
}

// AssignVersion returns the assignment of a version, and AssignExpiry that of an expiry,
// nil for none.
func (r Reserved) AssignVersion(v types.AttributeValue) Assignment {
	return Assignment{r.Version, Unlisted, v}
}

// AssignExpiry is described at AssignVersion.
func (r Reserved) AssignExpiry(v types.AttributeValue) Assignment {
	return Assignment{r.TTL, Expiry, v}
}

// ListsExpiry reports whether the TTL attribute is one of a kind's own.
func (r Reserved) ListsExpiry(it *schema.Item) bool { return it.Attribute(r.TTL) >= 0 }

// Epoch returns an instant as the TTL attribute holds it.
func Epoch(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}

func readEpoch(v types.AttributeValue) time.Time {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(n.Value, 10, 64)
	return time.Unix(seconds, 0)
}
