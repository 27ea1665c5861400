package main

const head = `# Benchmarks

Each library does the same jobs, written as its documentation recommends (module bench). The libraries are the SDK with
attributevalue and expression, github.com/guregu/dynamo/v2, and gocloud.dev/docstore/awsdynamodb/v2. *sdk-same* is the
SDK by hand that asks for the same answers as itemize: the consumed capacity of each request, and the stored item when a
condition fails. Its items also carry eight random bytes. *itemize* is generated code and a mapper without options.
*itemize-shared* adds ` + "`mapper.ShareStrings()`" + `, and *itemize-reflected* has no generated code. Rows in
which another library is better are listed like all others. A library with "-" does not do the job.

Except for docstore, every library does the same work. An update compares a version and the old value. An insert
requires that the item is missing, and an insert of several items is one transaction. After it adds a wish, a job
reads the user's root item, strongly consistent. A bulk load overwrites. itemize does more: it keeps a snapshot of
each entity, reports the consumed capacity, and gives each item a version and the incarnation of its entity (20
bytes). Docstore does less: it compares a revision and reads nothing after an added wish. It stores documents of one
kind in a collection, does not load several kinds at once, and has no transaction for many documents.

| job | description |
|---|---|
| insert-1-item | insert a session of one item |
| load-1-item | load that item by its key |
| save-1-item | change one attribute, if the version and the attribute are unchanged |
| insert-20-items | insert a user: 4 items and 16 wishes, in one transaction |
| load-20-items | load that user with all items |
| change-one-attribute | change the e-mail address of that user |
| add-a-wish | add a new wish to an existing user, without a load |
| one-month | query the 8 wishes of November 2021 |
| full-page | query 1,000 wishes, 889 KB of JSON: almost a full page of 1 MB |
| bulk-load-500-items | load 25 users of 20 items each |

` + "`cd internal/bench && go run .`" + ` prints the comparison of benchstat, and ` +
	"`go run . -write ../../docs/design/benchmarks.md`" +
	` writes
this page.
`

const keptText = "A program keeps one string of 7 bytes from a page of 890 KB and drops everything else. The " +
	"table shows " +
	"the memory that stays in use."

const ratioTitle = "Side by side"

const ratioText = "How many times as fast as the SDK by hand, for the program alone. The libraries take turns of 60 " +
	"ms in one process,\nin ten rounds, and the table has the medians. The first column compares with *sdk-same*, " +
	"the second with *sdk*.\nThe rows of *guregu* have only the second: it does not ask for the answers of " +
	"*sdk-same*.\nA run of a migration (package migrate) is compared with the SDK alone that sends the " +
	"same requests, with as many under\nway, on dynoxide. `go run . -gate ../../docs/design/benchmarks.md` measures " +
	"again, and fails if a figure of the first column\nis more than 10 % lower in three measurements. There the " +
	"fastest turns of both sides count, too: a busy machine disturbs\nthem least."
