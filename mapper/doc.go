// Package mapper maps a struct to the items of one DynamoDB item collection, and saves only the items
// that changed.
//
// A model is a struct whose ddb tags say where its fields lie (package tags has the grammar):
//
//	type User struct {
//		_      struct{} `ddb:"table=users"`
//		ID     string   `ddb:"pk=USER#{ID}"`
//		Email  string   `ddb:"sk=U#Information"`
//		Home   Address  `ddb:"sk=U#Address#Home"`
//		Wishes []Wish   `ddb:"sk=M#Wish#{AddedAt}"` // one item for each
//	}
//
// How a field is encoded is the business of its dynamodbav tag and of attributevalue, with one
// difference: names of attributes match exactly.
//
// # What to call
//
//   - To make a mapper: [New], with options such as [Table] and [Tables]. Package tables has the
//     definitions of its tables.
//   - One entity: [Mapper.New] and [Mapper.Save], [Mapper.Load], [Mapper.Update], [Mapper.Delete],
//     [Mapper.DeleteByKey].
//   - A change without reading: Patch, Add, Put and Delete of generated nodes, then [Patch.Exec].
//   - Several entities, all or nothing: [Transact], of [Mapper.SavePart], [Mapper.DeletePart],
//     [Patch.PatchPart], [RawPart].
//   - Many entities: [Mapper.LoadMany], [Mapper.Scan], [Mapper.BulkLoad].
//   - Elements of an entity, entities of a partition, a secondary index: package query, or generated
//     nodes; [Mapper.Key], [Mapper.Index].
//   - What it costs: [Mapper.PlanSave], [Mapper.PlanLoad], [Patch.Plan], [PlanTransact] before; the
//     [Receipt] of each call and [ReceiptTo] after; [Observe] and [Totals] for all calls.
//   - An item of a stream, an export or a scan of one's own: [Mapper.Decode], [Mapper.DecodeChange],
//     [Mapper.FromItems].
//   - Memory in place of reads: [Caching]. Tables that follow the time: [InTimeTables].
//
// A decoded struct with the method AfterLoad() has it called before the mapper remembers what is
// stored: fields that it sets are not dirty (docs/evolution.md).
//
// # Loading
//
// [Mapper.Load] reads a selection, all of an entity or a part of it, into an [Entity]. What was not
// loaded is never changed or removed by a save: items outside the selection, items and attributes that
// the model does not know. Reads are eventually consistent unless [Strong] is given. DynamoDB's Query
// is read-committed: a load of several items may see somebody else's transaction half applied. What is
// saved is protected item by item; [CheckLoaded] protects the rest.
//
// # Saving
//
// [Mapper.Save] compares the value with what was loaded, item by item and attribute by attribute, and
// writes what differs: an UpdateItem of just the changed attributes, a Put of a new item, a Delete of
// one that is gone. An unchanged entity sends nothing. One dirty item is one request at the single
// price; several are one transaction at the double, or with [Independent] requests of their own at the
// single. [Mapper.PlanSave] tells, without I/O, what a save would send and cost; the [Receipt] what it
// sent, and what DynamoDB charged.
//
// Changed means: attributevalue would encode it differently. Nil and empty differ inside an attribute;
// for elements that are items they are the same, and their order is that of their keys. An item whose
// fields are all zero is no item, unless it is the root, which means that the entity exists.
//
// # Writing without reading
//
// A [Patch] changes fields of one entity without loading it: the nodes of generated code make patches,
// with the handles of package field.
//
// # Additions
//
// An item that a save or patch adds was in the live entity before the call returned, or the call
// returns an error: after the put the root item is read, unless it is written in the same transaction.
// If the entity was deleted, the item is deleted again, and the error is a *[NotFoundError]. [Blind]
// leaves that out. docs/guarantees.md lists all guarantees.
//
// # Versions
//
// Every item has a version, an opaque token of eight random bytes (_v, or as version= names it), new at
// each write and compared by the next one: no save overwrites what it has not seen, unless the model
// has noversion. Programs without this library may leave the version as it is: so a write of a loaded
// item also compares the values that were read (unless [VersionsOnly] is given). Items that were stored
// without one are guarded by their old values. A failed comparison is a *[ConflictError];
// [Mapper.Update] loads and applies again. Tokens order the writes of one Region: in a global table,
// writes of two Regions at once both succeed, and the last one wins, as without the library.
//
// # When answers are lost
//
// Where a request may have been applied although no answer came, the item's version tells whose write
// it holds. If that does not tell either, the error is an *[OutcomeUnknownError], and the next
// [Mapper.Save] of the entity finds out first. An update or delete of a loaded item and an increment
// are never applied twice, a transaction not within ten minutes; the put of something new may come back
// after somebody has removed it, and a patch may undo a newer one: the table in docs/saving.md says
// what is promised, exactly. With [ExactlyOnce] DynamoDB itself tells, for ten minutes, at the double
// price.
//
// # Entities of any size
//
// Inserts and deletes that do not fit one transaction (100 items, 4 MB), and those with [Staged], go in
// steps: the root is written first, with a mark that keeps the entity from being found, then the other
// items, then the root again. A program that dies on the way leaves something that nobody finds, and
// that the next insert or delete of the entity takes over. Each insert gives its items an incarnation
// (_a), so that what is left of an entity never joins the next one of its key. See docs/saving.md.
package mapper
