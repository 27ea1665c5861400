package mapper

import (
	"time"

	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/query"
)

// Option configures a mapper.
type Option interface{ configure(*settings) }

type settings struct {
	table  *string
	rename func(string) string

	cursorKey                   []byte
	observers                   []Observer
	typical                     map[string]int
	sendsOnce                   bool
	cache                       *Cache
	times                       *TimeTables
	large                       largeSettings
	shareStrings, decodeWithSDK bool
	blind, versionsOnly         bool
	margin                      *time.Duration
	assumeVerified              bool
}

func settingsOf(options []Option) *settings {
	s := &settings{}
	for _, o := range options {
		if o != nil {
			o.configure(s)
		}
	}
	return s
}

type optionFunc func(*settings)

func (f optionFunc) configure(s *settings) { f(s) }

// Table sets the real name of the main table.
func Table(name string) Option { return optionFunc(func(s *settings) { s.table = &name }) }

// Tables renames every table of the model: rename gets each declared name and returns the real one.
// Table has priority for the main table. The name of a table that rotates by time keeps its placeholder
// ({At:month}).
func Tables(rename func(string) string) Option {
	return optionFunc(func(s *settings) { s.rename = rename })
}

// ShareStrings lets the strings of items share the memory of the answer. This is faster, but one kept
// string keeps the whole answer in memory, 1 MB of items and more. Use it for answers that are dropped
// as a whole. Without it each string is copied.
func ShareStrings() Option { return optionFunc(func(s *settings) { s.shareStrings = true }) }

// DecodeWithSDK lets the SDK decode every answer and encode every request. Use it if the client's
// middleware looks at the items of outputs. Without it, a mapper with the SDK's client
// (*dynamodb.Client) and its default protocol decodes items directly. Middleware then sees outputs
// without items, but with counts, keys and consumed capacity. Values and errors are the same, and other
// clients are not affected.
func DecodeWithSDK() Option { return optionFunc(func(s *settings) { s.decodeWithSDK = true }) }

// wire returns the codec for a client, nil if the SDK does everything.
func (s *settings) wire(client Client) *wire.Codec {
	if s.decodeWithSDK {
		return nil
	}
	return wire.For(client, s.shareStrings)
}

// CursorKey sets the secret that encrypts cursors: at least 16 random bytes. Mappers with the same
// secret accept each other's cursors. Each cursor is encrypted with AES-256-GCM, with a key that HKDF
// derives from the secret (RFC 5869). Without the secret, no one can read or change the keys in a
// cursor.
//
// Without CursorKey the mapper uses a random secret. Other processes then refuse its cursors, and so
// does the same program after a restart. Set it if several processes serve pages.
func CursorKey(key []byte) Option {
	return optionFunc(func(s *settings) { s.cursorKey = append([]byte{}, key...) })
}

// ClientNeverRetries says that the client never sends a request twice, like the stub of a test. Then a
// failed condition is a conflict. Without it, a client that does not pass on request options (see
// [Client]) may have sent the request before. Then a failed condition is an *OutcomeUnknownError.
func ClientNeverRetries() Option { return optionFunc(func(s *settings) { s.sendsOnce = true }) }

// ExpiryMargin sets how long after its time to live an item still blocks an insert with its key. The default is 15
// minutes.
//
// Loads and queries leave an item out when its time to live is over by this program's clock. An insert, or an element
// that is added, replaces it when its time to live has been over for the margin. So a program whose clock is fast by
// less than the margin never replaces an item that is live by the clock of another program. In between, an insert
// returns ErrExists. For leases of seconds, synchronize the clocks and set a margin of about a second. 0 trusts this
// clock.
func ExpiryMargin(d time.Duration) Option { return optionFunc(func(s *settings) { s.margin = &d }) }

// AssumeVerified lets lookups by unique values trust the guards without reading the note that they were verified. Use
// it for programs that may not read the notes, and in tests.
//
// Without it, the first lookup of each unique value reads the note, strongly consistent (1 RCU). If the value was
// verified, the mapper remembers that. If not, lookups return [ErrUnverified], and the note is read again after 30
// seconds. See package unique.
func AssumeVerified() Option { return optionFunc(func(s *settings) { s.assumeVerified = true }) }

// SizeEstimate sets the usual size of items of a kind in bytes. field is the Field of a plan. Plans of
// patches use it, because a patch reads nothing. The mapper replaces it with the sizes of items that it
// reads and writes.
func SizeEstimate(field string, bytes int) Option {
	return optionFunc(func(s *settings) {
		if s.typical == nil {
			s.typical = map[string]int{}
		}
		s.typical[field] = bytes
	})
}

// WriteOption is an option of writes of one entity, and of their plans: Save, Update, Delete,
// DeleteByKey, and Exec of a patch. Each option lists the calls that accept it. Other calls refuse it.
type WriteOption interface{ apply(*operation.Options) }

type writeFunc func(*operation.Options)

func (f writeFunc) apply(o *operation.Options) { f(o) }

// Independent writes the changed items one by one at the single price, instead of one transaction at
// the double price. The write is not atomic: if it fails in between, the error is a *PartialError, and
// the next Save writes the rest.
func Independent() WriteOption { return writeFunc(func(o *operation.Options) { o.Independent = true }) }

// Staged makes an insert or delete of any size visible at once, at the single price and one more unit
// for each KB of the root item. The root item is written first with a mark, then the other items, then
// the root item becomes live. Loads do not find the entity before that. A delete also reads all items
// twice, strongly consistent, and the root item.
//
// An insert or delete that does not fit one transaction is always staged, unless you pass Independent
// or ExactlyOnce. An insert of a single item is one put. Models with noversion cannot be staged.
func Staged() WriteOption { return writeFunc(func(o *operation.Options) { o.Staged = true }) }

// ExactlyOnce writes a single changed item in a transaction with a client token, at the double price.
// DynamoDB then recognizes a repetition for ten minutes. The outcome is unknown only if the request was
// refused after a lost answer, or never answered.
func ExactlyOnce() WriteOption { return writeFunc(func(o *operation.Options) { o.ExactlyOnce = true }) }

// Move allows changes of key fields: one transaction puts the items under their new keys and deletes
// the old ones. The whole entity must be loaded and fit a transaction.
//
// Afterwards a strong query of the old key, one for each table, finds items that other writers added between the load
// and the transaction. Each is carried to the new key in a transaction that requires the root item: twice W of the
// item at both keys, and twice W of the root item. The receipt lists them in Carried. If one cannot be carried, the
// entity has moved, the error is a *PartialError, and LeftBehind lists the item. Another Save of the entity tries
// again. While the number of shards changes, a save with Move of an entity that is on its shard finishes a move that
// a program began and did not end.
func Move() WriteOption { return writeFunc(func(o *operation.Options) { o.Move = true }) }

// CheckLoaded also requires that the loaded items that do not change are unchanged, at two WCU for each
// KB. If the save adds an item, it also requires that the root item is unchanged, even if it was not
// loaded.
func CheckLoaded() WriteOption { return writeFunc(func(o *operation.Options) { o.CheckLoaded = true }) }

// CheckRoot lets a save that only updates or deletes items read the root item afterwards, like a save
// that adds items. If the entity is not live, the error is ErrNotFound, although the items were
// written. Without it, such a save during a staged delete is acknowledged, and its items are deleted
// with the entity. It costs a strong read of the root item; in a transaction of several parts, two WCU
// for each KB of it; nothing if the save writes the root item. A patch has IfEntityExists instead.
func CheckRoot() WriteOption { return writeFunc(func(o *operation.Options) { o.CheckRoot = true }) }

// BlindOption is an [Option] of a mapper and a [WriteOption] of a call.
type BlindOption interface {
	toMapper
	toWrite
}

type (
	toMapper = Option
	toWrite  = WriteOption
)

type blind struct {
	optionFunc
	writeFunc
}

// Blind adds items without checking that their entity exists, at the price of the items alone. As an
// option of New it is the default of all calls.
//
//   - A save that adds items does not read the root item afterwards. If the entity was deleted, the
//     addition is acknowledged, but never visible.
//   - A patch creates a missing item, and adds an element, also without an entity. The item has no
//     incarnation, so the next entity with that key shows it. If the items expire with the root item
//     (ttl,all), the patch needs its reads: Blind of the call is an error, and that of New has no effect.
//   - A delete in one transaction does not look for items that other writers added before it.
func Blind() BlindOption {
	return blind{func(s *settings) { s.blind = true }, func(o *operation.Options) { o.Blind = true }}
}

// VersionsOnly lets writes compare versions only. Use it for tables that only this library writes.
// Without it, saves and deletes also compare the loaded values, so a change by a program that does not
// set the version is a *ConflictError. An update compares the attributes that it changes; a delete and
// a check compare all. Values of up to 4 KB in all are compared, and the sizes of larger strings and
// binaries. This costs no capacity.
func VersionsOnly() Option { return optionFunc(func(s *settings) { s.versionsOnly = true }) }

// Reindex also writes loaded items whose stored index keys differ from those of the model: items from
// before the index was declared, or from another program. A save without it only repairs the index keys
// of items that it writes.
func Reindex() WriteOption { return writeFunc(func(o *operation.Options) { o.Reindex = true }) }

// TagOption is an option of Load and a [WriteOption].
type TagOption interface {
	toRead
	toWrite
}

type tagOption struct {
	ReadOption
	writeFunc
}

// IfTag requires the state that a tag was made of ([Entity.Tag]). Otherwise the error is a
// *ConflictError with the changed items. The tag may have the quotation marks of HTTP, and may be a
// weak one (W/).
//
//   - Load compares the tag with the loaded items.
//   - Save, Delete and Update compare the tag with the loaded items, and write nothing if it differs.
//     Update does not call its function then. Versions protect the items that they write. Writes of
//     others to other items, and new items, are not compared; [CheckLoaded] compares the other loaded
//     items if the save writes something. A save that was written in part may be repeated with its tag.
//   - A patch requires the versions of the items that it changes. An item that is not in the tag of the
//     whole entity must be missing. Nothing is read. A patch accepts tags of up to 64 items, and
//     refuses items without a version.
//
// The selection must be the one of the tag. A tag of another selection, and text that is no tag, are
// conflicts. An empty tag is an error, and so is a new entity. DeleteByKey and LoadMany accept no tag.
func IfTag(tag string) TagOption {
	return tagOption{
		search.OptionFunc(func(s *search.Settings) { s.Tag = &tag }),
		func(o *operation.Options) { o.Tag = &tag },
	}
}

func writeOptionsOf(options []WriteOption) operation.Options {
	if len(options) == 0 {
		return operation.Options{}
	}
	return applied(options)
}

// applied applies options. Options are on the heap; writeOptionsOf does not need any if there are none.
func applied(options []WriteOption) operation.Options {
	var all operation.Options
	for _, o := range options {
		if o != nil {
			o.apply(&all)
		}
	}
	return all
}

// ReadOption is an option of Load, LoadMany and of queries: [Strong], [ReceiptTo], [Concurrency],
// [Memory], [SkipMissing], [RequireRoot].
type ReadOption = query.ReadOption

// ReadScanOption is a [ReadOption] and a [ScanOption].
type ReadScanOption interface {
	toRead
	toScan
}

type (
	toRead = ReadOption
	toScan = ScanOption
	toLoad = BulkOption
)

type readOption struct{ ReadOption }

func readFunc(f func(*search.Settings)) readOption {
	return readOption{search.OptionFunc(f)}
}

func (o readOption) scan(s *scanSettings) { search.Apply(o, &s.Settings) }

// Strong makes reads strongly consistent, at the double price. They see every write that was
// acknowledged before.
func Strong() ReadScanOption { return readFunc(func(s *search.Settings) { s.Strong = true }) }

// ReceiptTo writes the receipt of a read to r at its end.
func ReceiptTo(r *Receipt) ReadScanOption {
	return readFunc(func(s *search.Settings) { s.Receive = receive(r) })
}

// RequireRoot makes a Load of a part return ErrNotFound if the entity does not exist. Without it, such a
// load returns an empty part: its items do not show whether the root item exists. It also reads the
// root item, at 0.5 RCU for each 4 KB: together with other single items, otherwise in one request more.
// The entity then has the fields of the root item too. For Load, LoadMany and PlanLoad; queries refuse
// it.
func RequireRoot() ReadOption { return readFunc(func(s *search.Settings) { s.Root = true }) }

func readSettingsOf(options []ReadOption) search.Settings {
	if len(options) == 0 {
		return search.Settings{}
	}
	var s search.Settings
	for _, o := range options {
		if o != nil {
			search.Apply(o, &s)
		}
	}
	return s
}

// ConcurrencyOption is a [ReadOption], a [ScanOption] and a [BulkOption].
type ConcurrencyOption interface {
	toRead
	toScan
	toLoad
}

type parallel struct {
	readOption
	bulkFunc
}

// Concurrency limits the number of parallel requests of a query over many shards (the default is 64)
// and of a bulk load (8). The first result of such a query needs the first answer of every shard. Other
// calls ignore it.
func Concurrency(n int) ConcurrencyOption {
	return parallel{
		readFunc(func(s *search.Settings) { s.Scatter.Parallel = n }),
		func(s *bulkSettings) { s.parallel = n },
	}
}

// Memory limits the memory for answers of a query over many shards, in bytes. The default is 32 MB. The
// query requests answers that fit, by the sizes of earlier items; the first answer of each shard has at
// most 16 items. Other reads ignore it.
func Memory(bytes int) ReadScanOption {
	return readFunc(func(s *search.Settings) { s.Scatter.Memory = bytes })
}
