package mapper

import (
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/operation"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/wire"
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

// Table sets the real name of the model's main table.
func Table(name string) Option { return optionFunc(func(s *settings) { s.table = &name }) }

// Tables renames every table of the model: it is called with each declared name
// and returns the real one. Table wins for the main table. The name of a table that follows the time
// keeps its placeholder ({At:month}).
func Tables(rename func(string) string) Option {
	return optionFunc(func(s *settings) { s.rename = rename })
}

// ShareStrings has the strings of items lie in the memory of the answer that they came in. That is
// faster, and a single string that is kept keeps all of its answer (1 MB of items and more) alive: it
// is for answers that are used and dropped, or kept whole. Without it each string is copied.
func ShareStrings() Option { return optionFunc(func(s *settings) { s.shareStrings = true }) }

// DecodeWithSDK has the SDK make attribute values of every answer, and serialize every request. It is
// for clients whose middleware looks at the items of outputs. Without it a mapper whose client is the
// SDK's own (*dynamodb.Client), with the protocol that it comes with, reads items straight from the
// wire, and the outputs that the client's middleware sees have no items, though all else: counts, keys,
// consumed capacity. Other clients are called as the SDK has it. The values, and the errors, are the
// same.
func DecodeWithSDK() Option { return optionFunc(func(s *settings) { s.decodeWithSDK = true }) }

// wire returns the codec for a client, nil where the SDK does all.
func (s *settings) wire(client Client) *wire.Codec {
	if s.decodeWithSDK {
		return nil
	}
	return wire.For(client, s.shareStrings)
}

// CursorKey sets the secret that encrypts the cursors of pages: 16 random bytes or more. Mappers with
// the same secret accept each other's cursors. Each cursor is sealed with AES-256-GCM under a key that
// HKDF derives from the secret (RFC 5869), so that nobody without it can read or change the keys in a
// cursor.
//
// Without CursorKey, the mapper makes a random secret when it is made. Its cursors are encrypted as
// well, but no other process accepts them, nor does the same program after a restart: give a CursorKey
// if more than one process serves pages.
func CursorKey(key []byte) Option {
	return optionFunc(func(s *settings) { s.cursorKey = append([]byte{}, key...) })
}

// ClientNeverRetries tells that the client never sends a request again by itself, as a test's stub
// does not. Then an answer that a condition failed is a conflict. Without it, a client that does
// not pass on the options of calls (see [Client]) could have sent the request before, and lost the
// answer, so that the outcome is not known (*OutcomeUnknownError).
func ClientNeverRetries() Option { return optionFunc(func(s *settings) { s.sendsOnce = true }) }

// SizeEstimate tells how large items of a kind usually are, in bytes, by the name that plans
// give as their Field: what the plan of a patch expects, which reads nothing. Without it, and
// later, a mapper goes by the items that it has read and written.
func SizeEstimate(field string, bytes int) Option {
	return optionFunc(func(s *settings) {
		if s.typical == nil {
			s.typical = map[string]int{}
		}
		s.typical[field] = bytes
	})
}

// WriteOption is an option of writes of one entity, and of their plans: Save, Update, Delete,
// DeleteByKey, and Exec of a patch. Which option means something for which call stands at the option;
// another one is refused.
type WriteOption interface{ apply(*operation.Options) }

type writeFunc func(*operation.Options)

func (f writeFunc) apply(o *operation.Options) { f(o) }

// Independent writes the dirty items one by one, at the single price, in place of
// one transaction at the double. The write is not atomic: when it fails part-way
// the error is a *PartialError, and the next Save writes the rest.
func Independent() WriteOption { return writeFunc(func(o *operation.Options) { o.Independent = true }) }

// Staged makes an insert or a delete of any size appear at once, at the single
// price plus one unit for each KB of the root: the root is written first, marked
// as not live, then the other items, then the root goes live. An entity that is
// not live is not found. A delete also reads all items twice, strongly, and the root. An
// insert or delete that does not fit one transaction is staged without being asked, unless
// Independent or ExactlyOnce is given; an insert of a single item is one put. It needs
// versions: a model with noversion cannot be staged.
func Staged() WriteOption { return writeFunc(func(o *operation.Options) { o.Staged = true }) }

// ExactlyOnce writes a single dirty item in a transaction with a client token, at
// the double price: DynamoDB itself tells for ten minutes whether it was applied. It is
// unknown only where it was refused after an answer was lost, or never answered.
func ExactlyOnce() WriteOption { return writeFunc(func(o *operation.Options) { o.ExactlyOnce = true }) }

// Move allows fields that keys name to be changed: in one transaction the entity's items
// are put under their new keys and deleted under the old ones. All of the entity must be
// loaded, and fit a transaction. A strong query of the entity at its old key follows, one for
// each table, for the receipt's LeftBehind.
func Move() WriteOption { return writeFunc(func(o *operation.Options) { o.Move = true }) }

// CheckLoaded also requires that the loaded items that were not changed are still
// what they were, at two units for each KB of them, and of an entity to which something is
// added that its root, also one that was not loaded, is there and is the one that it was.
func CheckLoaded() WriteOption { return writeFunc(func(o *operation.Options) { o.CheckLoaded = true }) }

// CheckRoot has a save that only updates or deletes items read the root item afterwards, as a save that
// adds items always does: the error is ErrNotFound unless the entity is still live, though the items
// were written. A patch has IfEntityExists for that. Without CheckRoot such a save during a staged
// delete is acknowledged, and its items go with the entity. It costs a strongly consistent read of the
// root item, or in a transaction of several parts two WCU for each KB of it. A save that writes the
// root item costs no more.
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

// Blind adds items without making sure that their entity exists, at the price of the items alone. As an
// option of New it is the default of all calls.
//
//   - A save that adds items does not read the root item afterwards: what it adds to an entity that was
//     deleted is acknowledged and never seen.
//   - A patch creates an item that is missing, and adds an element, also without an entity. The item
//     carries no incarnation, so that it is seen with the next entity of the key.
//   - A delete in one transaction does not look for items that other writers added before it.
func Blind() BlindOption {
	return blind{func(s *settings) { s.blind = true }, func(o *operation.Options) { o.Blind = true }}
}

// VersionsOnly compares versions alone. It is for tables that no program writes without this library.
// Without it, saves and deletes of loaded items also compare the values that they have read, so that a
// change of a program that does not write the version is a *ConflictError. An update compares the
// attributes that it changes, a delete and a check all of them. Values of up to 4 KB in all are
// compared, larger strings and binaries by their size. That costs no capacity.
func VersionsOnly() Option { return optionFunc(func(s *settings) { s.versionsOnly = true }) }

// Reindex also writes the loaded items whose keys of secondary indexes are not stored as the model makes
// them now: those that were written before an index was declared, or by another program. A save
// without it repairs the keys of the items that it writes anyhow.
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

// IfTag requires that the entity is as it was when a tag was made ([Entity.Tag]): otherwise the error
// is a *ConflictError, with the items that have changed. The tag may have the quotation marks of HTTP,
// and be a weak one (W/).
//
//   - Load compares the tag with the loaded items.
//   - Save, Delete and Update compare it with the loaded items, and write nothing if it differs. Update
//     does not call its function then. The items that they write are protected by their versions. What
//     others write between the load and the write to other items, and items that they add, is not
//     compared; [CheckLoaded] compares the other loaded items if the save writes something. A save that
//     was written in part may be sent again with its tag.
//   - A patch requires the versions of the items that it changes, and that an item which the tag of the
//     whole entity does not have is missing. Nothing is read. It takes tags of up to 64 items, and
//     refuses items without a version.
//
// The selection has to be the one that the tag was made of. A tag of something else, or text that is no
// tag, is a conflict; an empty one is an error, and so is a new entity. DeleteByKey and LoadMany take
// no tag.
func IfTag(tag string) TagOption {
	return tagOption{
		query.Internal.ReadOption(door.Key{}, func(s *search.Settings) { s.Tag = &tag }),
		func(o *operation.Options) { o.Tag = &tag },
	}
}

func writeOptionsOf(options []WriteOption) operation.Options {
	if len(options) == 0 {
		return operation.Options{}
	}
	return applied(options)
}

// applied applies options. Options are on the heap: writeOptionsOf does not need it for none.
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
// [Memory], [SkipMissing].
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
	return readOption{query.Internal.ReadOption(door.Key{}, f)}
}

func (o readOption) scan(s *scanSettings) { query.Internal.Apply(door.Key{}, o, &s.Settings) }

// Strong reads strongly consistently, at the double price: a write that was
// answered before is seen.
func Strong() ReadScanOption { return readFunc(func(s *search.Settings) { s.Strong = true }) }

// ReceiptTo writes the receipt of a read to r when the read has ended.
func ReceiptTo(r *Receipt) ReadScanOption {
	return readFunc(func(s *search.Settings) { s.Receive = receive(r) })
}

func readSettingsOf(options []ReadOption) search.Settings {
	if len(options) == 0 {
		return search.Settings{}
	}
	var s search.Settings
	for _, o := range options {
		if o != nil {
			query.Internal.Apply(door.Key{}, o, &s)
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

// Concurrency bounds the requests that are under way at one time: of a query over many shards, where it
// is 64 unless it is given, and whose first result needs the first answer of every shard; and of a
// bulk load, where it is 8. Other calls do not look at it.
func Concurrency(n int) ConcurrencyOption {
	return parallel{
		readFunc(func(s *search.Settings) { s.Scatter.Parallel = n }),
		func(s *bulkSettings) { s.parallel = n },
	}
}

// Memory bounds what a query over many shards holds of their answers, in bytes: 32 MB unless it is
// given. Answers are made so small that they fit, reckoning with items as large as those read before;
// the first answer of each shard has 16 items at most. Other reads do not look at it.
func Memory(bytes int) ReadScanOption {
	return readFunc(func(s *search.Settings) { s.Scatter.Memory = bytes })
}
