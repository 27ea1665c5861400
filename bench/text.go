package main

const head = `# Benchmarks

The same jobs, done with this library and with others, each written as its documentation recommends (module bench): the
SDK by hand with attributevalue and expression, github.com/guregu/dynamo/v2, and gocloud.dev/docstore/awsdynamodb/v2.
*itemize* is generated code as a mapper is without options; *itemize-shared* the same with
` + "`mapper.ShareStrings()`" + `; *itemize-reflected* is a model without generated code. Rows where another one
is better are rows like all others.

Every library does the same work: an update compares a version and the old value, an insert requires that the item is
missing, an added wish is followed by a strongly consistent read of the user's root item, an insert of several items is
one transaction, and a bulk load overwrites. itemize does more: it keeps a snapshot of each entity, reports the consumed
capacity, and gives each item a version and the incarnation of its entity (20 bytes). Docstore does less: it compares a
revision and reads nothing after an added wish. It stores documents of one kind in a collection, does not load several
kinds at once, and has no transaction for many documents.

| job | what is done |
|---|---|
| insert-1-item | a session, which is one item, that must not be there |
| load-1-item | that item by its key |
| save-1-item | one attribute of it, if its version and the attribute are as they were read |
| insert-20-items | a user: 4 items and 16 wishes, in one transaction |
| load-20-items | that user, with all items |
| change-one-attribute | an e-mail address of it |
| add-a-wish | a wish that must not exist, of a user that exists, without a load |
| one-month | the 8 wishes of November 2021 |
| full-page | 1,000 wishes, 889 KB of JSON: a page of 1 MB less a bit |
| bulk-load-500-items | 25 users of 20 items |

` + "`cd bench && go run .`" + ` prints the comparison of benchstat, and ` + "`go run . -write ../docs/benchmarks.md`" +
	` writes
this page.
`

const keptText = "What stays in memory of a page of 890 KB of which one string of 7 bytes is kept, and all else " +
	"dropped."
