// Package mapper maps a struct to the items of one DynamoDB item collection, and saves only the items
// that changed.
//
// A model is a struct whose ddb tags say which item each field is stored in (package tags has the
// grammar):
//
//	type User struct {
//		_      struct{} `ddb:"table=users"`
//		ID     string   `ddb:"pk=USER#{ID}"`
//		Email  string   `ddb:"sk=U#Information"`
//		Home   Address  `ddb:"sk=U#Address#Home"`
//		Wishes []Wish   `ddb:"sk=M#Wish#{AddedAt}"` // one item for each
//	}
//
// The command itemize gen generates the key UserByID and its queries. A first program needs five calls:
//
//	users, err := mapper.New[User](dynamodb.NewFromConfig(cfg))
//	_, err = users.Save(ctx, users.New(User{ID: "ann", Email: "a@example.com"})) // insert, or ErrExists
//	e, err := users.Load(ctx, UserByID("ann"))                                   // or ErrNotFound
//	e.Value.Email = "b@example.com"
//	_, err = users.Save(ctx, e) // writes the changed item, or returns a *ConflictError
//	wishes, err := UserByID("ann").Wishes().Month(2021, time.November).Collect(ctx, users)
//
// Fields are encoded as attributevalue encodes them, by their dynamodbav tags, with one difference:
// attribute names match exactly.
//
// # More calls
//
//   - Change an entity, and retry on conflicts: [Mapper.Update]. Delete it: [Mapper.Delete],
//     [Mapper.DeleteByKey].
//   - Write without a read: Patch, Add, Put and Delete of generated nodes, then [Patch.Exec].
//   - Query pages, entities of a partition, or a secondary index: package query, or generated nodes;
//     [Mapper.Key], [Mapper.Index].
//   - Predict the cost: [Mapper.PlanSave], [Mapper.PlanLoad], [Patch.Plan], [PlanTransact]. Look at it
//     afterwards: the [Receipt] of each call, [ReceiptTo]. Add up all calls: [Observe] and [Totals].
//   - Write several entities at once: [Transact] with [Mapper.SavePart], [Mapper.DeletePart],
//     [Patch.PatchPart], [RawPart].
//   - Read and write many entities: [Mapper.LoadMany], [Mapper.Scan], [Mapper.BulkLoad].
//   - Decode an item of a stream, an export or your own scan: [Mapper.Decode], [Mapper.DecodeChange],
//     [Mapper.FromItems].
//   - Choose tables: [Table] and [Tables]; package tables has their definitions. Use tables that rotate
//     by time: [InTimeTables]. Answer loads from memory: [Caching].
//
// If a decoded struct has a method AfterLoad(), the mapper calls it before it takes the snapshot. So
// the fields that it sets do not count as changed (docs/changing-a-model.md).
//
// # Loading
//
// [Mapper.Load] reads a selection, a whole entity or a part of it, into an [Entity]. A save never
// changes items that were not loaded, items that match no field, or attributes that the model does not
// know. Reads are eventually consistent unless you pass [Strong]. DynamoDB's Query is read-committed: a
// load of several items can see a part of another writer's transaction. The versions protect the items
// that you save, and [CheckLoaded] protects the other loaded items.
//
// # Saving
//
// [Mapper.Save] compares the value with the snapshot, attribute by attribute, and writes the
// difference. A changed item is an UpdateItem of the changed attributes, a new item a PutItem, a
// removed one a DeleteItem. An unchanged entity sends nothing. One changed item is one request. Several
// items are one transaction at the double price, or single requests with [Independent].
// [Mapper.PlanSave] predicts requests and cost without I/O. The [Receipt] has the requests that were
// sent and the consumed capacity.
//
// A value counts as changed if attributevalue would encode it differently. Nil and empty differ inside
// an attribute. For elements that are items they are equal, and elements have the order of their keys.
// A fixed item whose fields are all zero is not stored, except the root item, which means that the
// entity exists. Elements are always stored.
//
// # Writing without a read
//
// A [Patch] changes fields of one entity without a load. Nodes of generated code make patches, with the
// handles of package field.
//
// # Additions
//
// If a save or patch adds an item and returns no error, the item belonged to the live entity before the
// call returned. To make sure, the call reads the root item after the put, unless it writes the root
// item in the same transaction. If the entity was deleted, the call deletes the item again and returns
// a *[NotFoundError]. [Blind] leaves this out. docs/guarantees.md lists all guarantees.
//
// # Versions
//
// Every item has a version: eight random bytes in _v, or in the attribute that version= names. Each
// write sets a new version and requires the one that was loaded. A write of a loaded item also compares
// the loaded values, because other programs may not change the version ([VersionsOnly] leaves that
// out). Items without a version are guarded by their old values. If a comparison fails, the error is a
// *[ConflictError]; [Mapper.Update] loads and tries again. Versions order the writes of one Region: if
// two Regions of a global table write at the same time, both succeed, and the last write wins.
//
// # Lost answers
//
// If a request gets no answer, the version of the stored item shows whether it was applied. If not, the
// error is an *[OutcomeUnknownError], and the next [Mapper.Save] of the entity resolves it first.
// Updates and deletes of loaded items, and increments, are never applied twice. A transaction is not
// applied twice within ten minutes. The table in docs/saving.md has all cases. With [ExactlyOnce]
// DynamoDB itself recognizes a repetition for ten minutes, at the double price.
//
// # Entities of any size
//
// Inserts and deletes that do not fit one transaction (100 items, 4 MB) are staged, and so are those
// with [Staged]. The root item is written first with a mark, then the other items, then the root item
// again. Readers do not find the entity in between. If the program dies, the next insert or delete of
// the entity takes over. Each insert gives its items an incarnation (_a), so leftover items never join
// the next entity with the same key. See docs/saving.md.
package mapper
