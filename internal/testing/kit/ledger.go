package kit

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Ledger is a transaction's world: accounts and packages in tables of their own, and a table that
// is no model's.
type Ledger struct {
	Accounts     *mapper.Mapper[Account]
	Packages     *mapper.Mapper[registry.Package]
	Client       mapper.Client
	Table, Loose string
}

// NewLedger returns a ledger, on tables of its own if none are given.
func NewLedger(t testing.TB, f *Faulty, attempts int, tables ...string) *Ledger {
	t.Helper()
	if tables == nil {
		tables = LedgerTables(t)
	}
	c := Client(t, f, attempts)
	return &Ledger{
		Accounts: Must(mapper.New[Account](c, mapper.Table(tables[0])))(t),
		Packages: Must(mapper.New[registry.Package](c, mapper.Table(tables[1])))(t),
		Client:   c, Table: tables[1], Loose: tables[2],
	}
}

// LedgerTables creates the tables of a ledger.
func LedgerTables(t testing.TB) []string {
	return []string{
		testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "SK:S"),
		testengine.Table(t, "ID:S", ""),
	}
}

// Note is an item of the caller's own making.
func (j *Ledger) Note(id string) mapper.Part {
	return mapper.RawPart(j.Client, types.TransactWriteItem{Put: &types.Put{
		TableName: &j.Loose, Item: Item{"ID": S(id), "Text": S("x")},
		ConditionExpression: aws.String("attribute_not_exists(ID)"),
	}})
}
