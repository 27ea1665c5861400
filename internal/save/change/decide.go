package change

import "slices"

// A patch decides by one table about each of its items, from its knowledge about the item and its demand. A decision is
// the request, its condition, and the attributes that it carries. docs/design/writes.md shows the table.

// state is the knowledge of a patch about one item.
type state uint8

const (
	isUnread   state = iota // Neither the item nor its root item was read.
	isLikely                // The mapper remembers an incarnation of the entity.
	isLive                  // The root item was read because of this item: the entity is live, with this incarnation.
	isBound                 // The root item was read for all items of the patch.
	isMissing               // isBound, and the item does not exist.
	isLeftover              // The stored item is of a deleted entity.
	asRead     state = 8    // A flag: an operation does not fit the item, which was read.
)

func (s state) String() string {
	name := [...]string{"unread", "likely", "live", "bound", "missing", "leftover"}[s&^asRead]
	if s&asRead != 0 {
		return name + ", as read"
	}
	return name
}

// demand is the change that a patch asks for on one item, and whether the item has to exist.
type demand uint8

const (
	toAdd         demand = iota // Put an element, which must be missing.
	toReplace                   // Put an element, whether it exists or not.
	toRemove                    // Delete an item, which must exist.
	toUpdate                    // Update an item, which must exist.
	toUpsert                    // Update a fixed item, or make it by the same request.
	toCreate                    // Update a fixed item, or make it by a second request, after the root item was read.
	toCheck                     // Require conditions of an item, which must exist.
	toCheckEither               // Require conditions of a fixed item, which may be missing.
	toUpdateRoot                // Update the root item, which must exist.
	toUpsertRoot                // Update the root item, or make it by the same request.
	toCheckRoot                 // Require that the root item exists, with or without conditions.
)

func (d demand) String() string {
	return [...]string{
		"add", "replace", "remove", "update", "upsert", "create", "check", "check either", "update root",
		"upsert root", "check root",
	}[d]
}

type (
	states  []state
	demands []demand
)

// decision is a row of the table. The rule is one of docs/design/invariants.md.
type decision struct {
	states
	demands
	sends   sending
	item    need
	entity  origin
	carries load
	rule    string
}

// sending is the request of a decision.
type sending string

const (
	asAsked    sending = "as asked for"
	wholeValue sending = "sets attributes as a whole"
	wholeItem  sending = "puts the whole item"
)

// need is the requirement on the stored item.
type need string

const (
	exists        need = "exists"
	existsOrNot   need = "exists, or is missing"
	isAbsent      need = "is missing, or has expired"
	isReplaceable need = "is missing, has expired, or is the leftover item"
	isNone        need = "is missing"
	isSame        need = "is as it was read"
	isSameNone    need = "is missing, as it was read"
)

// origin is the requirement on the entity of the stored item.
type origin string

const (
	ofAny       origin = ""
	unstaged    origin = "the item is not of a staged insert"
	ofLikely    origin = "the item is not of a staged insert, and has the likely incarnation or none"
	ofLive      origin = "the item has the live incarnation"
	ofOwn       origin = "the item has the live incarnation, or none"
	liveRoot    origin = "the root item is live"
	liveRootOf  origin = "the root item is live, and has the live incarnation"
	inheritable origin = "the root item is live, and has the live incarnation and the expiry that was read"
)

// load has the attributes that a request carries in addition to the changes that the patch asks for.
type load string

const (
	nothing  load = ""
	identity load = "the live incarnation, the expiry of the root item"
	withKeys load = "the live incarnation, the expiry of the root item, the keys of indexes"
	sameRoot load = "for an item that it makes, a new incarnation if the entity has one"
)

// The rules of docs/design/invariants.md.
const (
	asCalled   = "as the caller asks"
	noRevival  = "no revival"
	noStaged   = "no staged item"
	guessed    = "remembered incarnation"
	oneEntity  = "one incarnation"
	liveEntity = "live entity"
	additions  = "additions"
	leftovers  = "leftover items"
	noLost     = "no lost update"
)

// decisions is the table. Each combination of a state and a demand is in one row, here or in impossible.
var decisions = []decision{
	{states{isUnread}, demands{toAdd}, asAsked, isAbsent, ofAny, nothing, asCalled},
	{states{isUnread}, demands{toReplace, toUpsert, toCheckEither}, asAsked, existsOrNot, unstaged, nothing, noStaged},
	{states{isUnread}, demands{toRemove, toUpdate, toCreate, toCheck}, asAsked, exists, unstaged, nothing, noRevival},
	{states{isUnread}, demands{toUpdateRoot, toCheckRoot}, asAsked, exists, liveRoot, nothing, liveEntity},
	{states{isUnread}, demands{toUpsertRoot}, asAsked, existsOrNot, liveRoot, nothing, liveEntity},

	{states{isLikely}, demands{toUpdate, toCreate, toCheck}, asAsked, exists, ofLikely, nothing, guessed},
	{states{isLikely}, demands{toUpsert, toCheckEither}, asAsked, existsOrNot, ofLikely, nothing, guessed},

	{states{isLive}, demands{toReplace}, asAsked, existsOrNot, ofLive, identity, oneEntity},
	{states{isLive}, demands{toRemove, toUpdate, toCreate, toCheck}, asAsked, exists, ofLive, nothing, oneEntity},
	{states{isLive}, demands{toUpsert, toCheckEither}, asAsked, existsOrNot, ofLive, nothing, oneEntity},
	{states{isLive}, demands{toUpdateRoot, toCheckRoot}, asAsked, exists, liveRootOf, nothing, oneEntity},
	{states{isLive}, demands{toUpsertRoot}, asAsked, existsOrNot, liveRootOf, nothing, oneEntity},

	{states{isBound}, demands{toAdd}, asAsked, isAbsent, ofAny, identity, additions},
	{states{isBound}, demands{toReplace, toUpsert}, asAsked, existsOrNot, ofOwn, identity, additions},
	{states{isBound}, demands{toRemove, toUpdate, toCreate, toCheck}, asAsked, exists, ofOwn, nothing, oneEntity},
	{states{isBound}, demands{toCheckEither}, asAsked, existsOrNot, ofOwn, nothing, oneEntity},
	{states{isBound}, demands{toUpdateRoot, toCheckRoot}, asAsked, exists, inheritable, nothing, liveEntity},
	{states{isBound}, demands{toUpsertRoot}, asAsked, exists, inheritable, sameRoot, liveEntity},

	{states{isMissing}, demands{toCreate}, asAsked, isNone, ofAny, withKeys, additions},
	{states{isMissing}, demands{toUpsertRoot}, asAsked, isNone, ofAny, sameRoot, additions},

	{states{isLeftover}, demands{toAdd, toReplace}, asAsked, isReplaceable, ofAny, identity, leftovers},
	{states{isLeftover}, demands{toUpsert}, wholeItem, isReplaceable, ofAny, identity, leftovers},
	{states{isLeftover}, demands{toCreate}, wholeItem, isReplaceable, ofAny, withKeys, leftovers},

	{states{isUnread | asRead}, demands{toUpdate, toUpsert, toCreate}, wholeValue, isSame, unstaged, nothing, noLost},
	{states{isUnread | asRead}, demands{toUpdateRoot, toUpsertRoot}, wholeValue, isSame, liveRoot, nothing, noLost},
	{states{isLive | asRead}, demands{toUpdate, toUpsert, toCreate}, wholeValue, isSame, ofLive, nothing, noLost},
	{states{isLive | asRead}, demands{toUpdateRoot, toUpsertRoot}, wholeValue, isSame, liveRootOf, nothing, noLost},
	{states{isBound | asRead}, demands{toUpdate, toCreate}, wholeValue, isSame, ofOwn, nothing, noLost},
	{states{isBound | asRead}, demands{toUpsert}, wholeValue, isSame, ofOwn, identity, noLost},
	{states{isBound | asRead}, demands{toUpdateRoot}, wholeValue, isSame, inheritable, nothing, noLost},
	{states{isBound | asRead}, demands{toUpsertRoot}, wholeValue, isSame, inheritable, sameRoot, noLost},
	{states{isMissing | asRead}, demands{toCreate}, wholeValue, isSameNone, ofAny, withKeys, noLost},
	{states{isMissing | asRead}, demands{toUpsertRoot}, wholeValue, isSameNone, ofAny, sameRoot, noLost},
}

var eachDemand = demands{
	toAdd, toReplace, toRemove, toUpdate, toUpsert, toCreate, toCheck, toCheckEither, toUpdateRoot, toUpsertRoot,
	toCheckRoot,
}

// impossible has the combinations that cannot occur, and why.
var impossible = []struct {
	states
	demands
	reason string
}{
	{
		states{isLikely},
		demands{toAdd, toReplace, toRemove, toUpdateRoot, toUpsertRoot, toCheckRoot},
		"Expect guesses for updates and checks of items other than the root item",
	},
	{states{isLive}, demands{toAdd}, "the item is of the live entity, and the caller gets ErrExists"},
	{
		states{isMissing, isMissing | asRead}, demands{
			toAdd, toReplace, toRemove, toUpdate, toUpsert, toCheck, toCheckEither, toUpdateRoot, toCheckRoot,
		}, "only these are made by a second request: a fixed item, and the root item",
	},
	{
		states{isLeftover},
		demands{toRemove, toUpdate, toCheck, toCheckEither},
		"a leftover item is replaced only if the patch may make the item",
	},
	{
		states{isLeftover},
		demands{toUpdateRoot, toUpsertRoot, toCheckRoot},
		"the incarnation of a root item is that of the entity",
	},
	{
		states{isUnread | asRead, isLive | asRead, isBound | asRead},
		demands{toAdd, toReplace, toRemove, toCheck, toCheckEither, toCheckRoot},
		"only an update has operations, which a stored value may not fit",
	},
	{states{isLikely | asRead}, eachDemand, "an item that was read has an incarnation or none, and needs no guess"},
	{states{isLeftover | asRead}, eachDemand, "no value of a leftover item is used"},
}

// decide returns the row of a combination, nil for an impossible one.
func decide(of state, asked demand) *decision {
	for i := range decisions {
		if row := &decisions[i]; slices.Contains(row.states, of) && slices.Contains(row.demands, asked) {
			return row
		}
	}
	return nil
}
