package kit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

// Indexed creates the table of a model with its indexes, and returns its mapper.
func Indexed[T any](t testing.TB, c mapper.Client, options ...mapper.Option) *mapper.Mapper[T] {
	t.Helper()
	client := testengine.Start(t).Client()
	if c == nil {
		c = client
	}
	options = append(options,
		mapper.Tables(func(name string) string { return fmt.Sprintf("%s-%d", name, time.Now().UnixNano()) }))
	m := Must(mapper.New[T](c, options...))(t)
	for _, in := range tables.Of(m) {
		Must(client.CreateTable(context.Background(), in.Create))(t)
	}
	return m
}

// Monday is a day at eight o'clock.
var Monday = time.Date(2021, time.November, 15, 8, 0, 0, 0, time.UTC)

// IssueOf returns an issue of weight 1.
func IssueOf(id, state, owner string, opened time.Time, texts ...IssueText) Issue {
	return Issue{
		ID: id, State: state, Owner: owner, Weight: 1, Opened: opened, Text: "text of " + id,
		Texts: texts,
	}
}

// Issue has four indexes. A GSI on its root has a key of its own. A sparse GSI on an ordinary attribute
// projects a list. A GSI on its elements projects keys. The last one is an LSI.
type Issue struct {
	_      struct{}    `ddb:"table=tickets"`
	_      struct{}    `ddb:"index=byState,hash=GSI1PK,range=GSI1SK,pk=STATE#{State},sk={Opened:millis}"`
	_      struct{}    `ddb:"index=byOwner,pk={Owner},project='State'"`
	_      struct{}    `ddb:"index=byAuthor,hash=Author,range=AuthorAt,pk=BY#{By},sk={At},on=Texts,project=keys"`
	_      struct{}    `ddb:"index=byWeight,local,range=Weight,sk={Weight},on=HEAD"`
	ID     string      `ddb:"pk=TICKET#{ID}"`
	State  string      `ddb:"sk=HEAD"`
	Owner  string      `ddb:"sk=HEAD"`
	Weight int         `ddb:"sk=HEAD"`
	Opened time.Time   `ddb:"sk=HEAD"`
	Text   string      `ddb:"sk=HEAD"`
	Texts  []IssueText `ddb:"sk=TEXT#{At}"`
}

// IssueText is an element of an Issue.
type IssueText struct {
	At    time.Time
	By    string
	Words string
}
