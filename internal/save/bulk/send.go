package bulk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/internal/save/write"
)

// PutClient is the client for overwriting, and InsertClient the client for inserting.
type (
	PutClient interface {
		BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput,
			...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	}
	InsertClient interface {
		BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput,
			...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	}
)

// Puts replaces items with BatchWriteItem.
type Puts struct {
	Client PutClient
	// Label is the name of the model in messages.
	Label string
	// Options are the options of calls.
	Options []func(*dynamodb.Options)
}

// Send is described at [Sender].
func (p *Puts) Send(ctx context.Context, batch []*Item, t *write.Tally) (*Answer, error) {
	requests := map[string][]types.WriteRequest{}
	for _, i := range batch {
		name := i.Table.Name
		requests[name] = append(requests[name], types.WriteRequest{PutRequest: &types.PutRequest{Item: i.Attributes}})
	}
	var retries wire.Retries
	t.Requests++
	out, err := p.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: requests, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
	}, append(slices.Clone(p.Options), retries.Watch)...)
	switch tables := tablesOf(batch); {
	case err != nil && len(tables) > 1 && isMissing(err):
		return p.putByTable(ctx, batch, tables, t)
	case err != nil:
		return failed(batch, err, func(err error) error {
			return request.Explain(ctx, p.Client, p.Label, tablesOf(batch), retries.Explain(err))
		})
	}
	charge(ctx, t, batch, out.ConsumedCapacity)
	a := &Answer{Results: make([]Result, len(batch))}
	if len(out.UnprocessedItems) == 0 {
		return a, nil
	}
	a.Errs = make([]error, len(batch))
	for name, unprocessed := range out.UnprocessedItems {
		table := item.Asked(name, slices.Collect(maps.Keys(requests)))
		retried := 0
		for n, i := range batch {
			is := func(w types.WriteRequest) bool { return w.PutRequest != nil && i.is(w.PutRequest.Item) }
			if i.Table.Name == table && slices.ContainsFunc(unprocessed, is) {
				a.Results[n], a.Errs[n] = Again, errUnprocessed
				retried++
			}
		}
		if retried != len(unprocessed) { // an item must not count as written if it may not be
			return nil, fmt.Errorf("%s: BatchWriteItem returned %d unprocessed items of the table %q, but the "+
				"request has %d: use one kind of name, the table's or its ARN",
				p.Label, len(unprocessed), name, retried)
		}
	}
	return a, nil
}

// errUnprocessed is the error of an item that BatchWriteItem returned. The answer has no reasons.
var errUnprocessed = request.Throttling("BatchWriteItem returned the item as unprocessed")

// putByTable sends the items of each table in separate requests, if one of the tables does not exist.
func (p *Puts) putByTable(ctx context.Context, batch []*Item, tables []*item.Table, t *write.Tally) (*Answer, error) {
	all := &Answer{
		Results: make([]Result, len(batch)), Stored: make([]item.Attributes, len(batch)),
		Errs: make([]error, len(batch)),
	}
	for _, table := range tables {
		var some []*Item
		var at []int
		for n, i := range batch {
			if i.Table == table {
				some, at = append(some, i), append(at, n)
			}
		}
		a, err := p.Send(ctx, some, t)
		if err != nil {
			return nil, err
		}
		for n, of := range at {
			if all.Results[of] = a.Results[n]; a.Errs != nil {
				all.Errs[of] = a.Errs[n]
			}
		}
	}
	return all, nil
}

// tablesOf returns the tables of the items.
func tablesOf(batch []*Item) []*item.Table {
	var all []*item.Table
	for _, i := range batch {
		if !slices.Contains(all, i.Table) {
			all = append(all, i.Table)
		}
	}
	return all
}

func isMissing(err error) bool { return errors.As(err, new(*types.ResourceNotFoundException)) }

// is reports whether an item of the same table has the same primary key.
func (i *Item) is(a item.Attributes) bool {
	pk, _ := attr.ScalarOf(a[i.Table.Hash])
	sk, _ := attr.ScalarOf(a[i.Table.Range])
	return pk == i.PK && sk == i.SK
}

// Inserts writes with INSERT statements, each with the condition that the item is missing. If a
// statement would be too long, the item is reported as blocked, so that it is written by itself.
type Inserts struct {
	Client InsertClient
	// Label is the name of the model in messages.
	Label string
	// Options are the options of calls.
	Options []func(*dynamodb.Options)
	// last is the last statement. Items of one kind have the same text.
	last atomic.Pointer[statement]
}

// statement is the text of an INSERT for a table and attribute names.
type statement struct {
	table string
	names []string
	text  string
}

// maxStatement is the largest length of a statement, in characters (PartiQL reference,
// ExecuteStatement).
const maxStatement = 8192

// Send is described at [Sender].
func (p *Inserts) Send(ctx context.Context, batch []*Item, t *write.Tally) (*Answer, error) {
	a := &Answer{
		Results: make([]Result, len(batch)), Stored: make([]item.Attributes, len(batch)),
		Errs: make([]error, len(batch)),
	}
	in := &dynamodb.BatchExecuteStatementInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
	var sent []int
	for n, i := range batch {
		s := p.insert(i)
		if len(*s.Statement) > maxStatement {
			a.Results[n] = Blocked
			continue
		}
		in.Statements, sent = append(in.Statements, s), append(sent, n)
	}
	if len(sent) == 0 {
		return a, nil
	}
	var retries wire.Retries
	t.Requests++
	out, err := p.Client.BatchExecuteStatement(ctx, in, append(slices.Clone(p.Options), retries.Watch)...)
	if err != nil {
		return failed(batch, err, func(err error) error {
			return request.Explain(ctx, p.Client, p.Label, tablesOf(batch), retries.Explain(err))
		})
	}
	charge(ctx, t, batch, out.ConsumedCapacity)
	if len(out.Responses) != len(sent) {
		return nil, fmt.Errorf("the answer of BatchExecuteStatement is incomplete: %d of %d statements",
			len(out.Responses), len(sent))
	}
	for j, n := range sent {
		e := out.Responses[j].Error
		if e == nil {
			continue
		}
		a.Unsure = a.Unsure || e.Code == types.BatchStatementErrorCodeEnumInternalServerError
		if a.Results[n], a.Errs[n] = resultOf(e); a.Errs[n] != nil {
			a.Errs[n] = request.Explain(ctx, p.Client, p.Label, []*item.Table{batch[n].Table}, a.Errs[n])
		}
		if ends[e.Code] && !(isMissing(a.Errs[n]) && batch[n].Table.Period != "") {
			return nil, a.Errs[n]
		}
		a.Stored[n] = e.Item
	}
	return a, nil
}

// insert returns the INSERT of an item.
func (p *Inserts) insert(i *Item) types.BatchStatementRequest {
	s := p.last.Load()
	if s == nil || !s.of(i) {
		s = statementOf(i)
		p.last.Store(s)
	}
	parameters := make([]types.AttributeValue, len(s.names))
	for n, name := range s.names {
		parameters[n] = i.Attributes[name]
	}
	return types.BatchStatementRequest{
		Statement: &s.text, Parameters: parameters,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// of reports whether the statement fits an item.
func (s *statement) of(i *Item) bool {
	if s.table != i.Table.Name || len(s.names) != len(i.Attributes) {
		return false
	}
	for _, name := range s.names {
		if i.Attributes[name] == nil {
			return false
		}
	}
	return true
}

func statementOf(i *Item) *statement {
	var b strings.Builder
	b.WriteString(`INSERT INTO "`)
	b.WriteString(strings.ReplaceAll(i.Table.Name, `"`, `""`))
	b.WriteString(`" VALUE {`)
	names := slices.Sorted(maps.Keys(i.Attributes))
	for n, name := range names {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(name, "'", "''"))
		b.WriteString("':?")
	}
	b.WriteByte('}')
	return &statement{i.Table.Name, names, b.String()}
}

// ends are the codes of errors that would occur for every other item too.
var ends = map[types.BatchStatementErrorCodeEnum]bool{
	types.BatchStatementErrorCodeEnumAccessDenied: true, types.BatchStatementErrorCodeEnumResourceNotFound: true,
}

// resultOf returns the result for an error of one statement, and the error of an item that is not written.
func resultOf(e *types.BatchStatementError) (Result, error) {
	// named like errors of other calls
	err := error(&smithy.GenericAPIError{
		Code: strings.TrimSuffix(string(e.Code), "Error") + "Exception", Message: aws.ToString(e.Message),
	})
	switch e.Code {
	case types.BatchStatementErrorCodeEnumDuplicateItem, types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return Blocked, nil
	case types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded,
		types.BatchStatementErrorCodeEnumThrottlingError,
		types.BatchStatementErrorCodeEnumRequestLimitExceeded:
		return Again, request.Throttling("%w", err)
	case types.BatchStatementErrorCodeEnumTransactionConflict,
		types.BatchStatementErrorCodeEnumInternalServerError:
		return Again, err
	case types.BatchStatementErrorCodeEnumResourceNotFound:
		return Refused, &types.ResourceNotFoundException{Message: e.Message}
	}
	return Refused, err
}

// failed returns the result for a call that failed as a whole: retry, the table of a period is missing,
// or the load ends.
func failed(batch []*Item, err error, explained func(error) error) (*Answer, error) {
	var api smithy.APIError
	passes := errors.As(err, &api) && (api.ErrorFault() == smithy.FaultServer || passing[api.ErrorCode()])
	err = explained(err)
	a := &Answer{
		Results: make([]Result, len(batch)), Errs: make([]error, len(batch)),
		Stored: make([]item.Attributes, len(batch)), Unsure: !wire.Throttled(err),
	}
	for n, i := range batch {
		switch {
		case passes:
			a.Results[n], a.Errs[n] = Again, err
		case isMissing(err) && i.Table.Period != "":
			a.Results[n], a.Errs[n] = Refused, err
		default:
			return nil, err
		}
	}
	return a, nil
}

// passing are the codes of temporary errors.
var passing = map[string]bool{
	"ProvisionedThroughputExceededException": true, "ThrottlingException": true,
	"RequestLimitExceeded": true, "LimitExceededException": true, "TransactionInProgressException": true,
	"InternalServerError": true, "ServiceUnavailable": true, "ServiceUnavailableException": true,
}

// charge adds what DynamoDB reports for a batch.
func charge(ctx context.Context, t *write.Tally, batch []*Item, all []types.ConsumedCapacity) {
	for i := range all {
		t.Charge(ctx, &all[i], func(answered string) string {
			for _, it := range batch {
				if item.SameTable(it.Table.Name, answered) {
					return it.Table.Name
				}
			}
			return answered
		})
	}
}
