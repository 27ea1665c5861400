package fakedynamo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Client is a double of a DynamoDB client: it answers calls from a script, evaluates
// nothing, and records what it got. It fails calls whose expressions DynamoDB would refuse
// because of their placeholders.
type Client struct {
	// Answers are given one after the other.
	Answers []Answer
	// At are the answers to the calls of one operation and sort key ("PutItem HEAD"), in
	// their order. They come before Answers: for calls that are under way at once.
	At map[string][]Answer
	// Unwatched reports that the client does not pass on the options of a call.
	Unwatched bool

	mu    sync.Mutex
	calls []Call
}

// Call is a call that a Client got.
type Call struct {
	// Name is the operation and, where it is about one item, its sort key.
	Name  string
	Input any
	// Once reports that the SDK may not send the request again by itself.
	Once bool
}

// Answer is the answer to a call.
type Answer struct {
	// Out is the output, nil for an empty one.
	Out any
	Err error
	// Attempts are the answers to the SDK's attempts: the status of a response, Lost or Unreachable.
	// Without any, the call is one attempt with the appropriate status.
	Attempts []int
	// Do is called when the call comes.
	Do func(Call)
}

// The answers to attempts, other than a status.
const (
	// Lost is an attempt whose answer did not come.
	Lost = -1 - iota
	// Unreachable is one whose connection was not made.
	Unreachable
)

// OK answers that a write was applied, and took a number of units.
func OK() Answer { return Answer{} }

// Refused answers that the condition of a write failed; stored is the item as it is.
func Refused(stored item.Attributes) Answer {
	return Answer{Err: &types.ConditionalCheckFailedException{
		Message: aws.String("The conditional request failed"),
		Item:    stored,
	}}
}

// Dropped answers nothing: the connection breaks after the request was sent.
func Dropped() Answer { return Answer{Err: ErrDropped, Attempts: []int{Lost}} }

// ErrDropped is a connection that broke.
var ErrDropped = errors.New("connection reset by test")

// Failed answers with an error code of DynamoDB.
func Failed(code string) Answer {
	fault := smithy.FaultClient
	if code == "InternalServerError" {
		fault = smithy.FaultServer
	}
	return Answer{Err: &smithy.GenericAPIError{Code: code, Message: code, Fault: fault}}
}

// Collided answers that the item is part of a transaction that is under way.
func Collided() Answer { return Answer{Err: &types.TransactionConflictException{}} }

// Canceled answers that a transaction was canceled, with the code and item of each reason.
func Canceled(reasons ...types.CancellationReason) Answer {
	return Answer{Err: &types.TransactionCanceledException{CancellationReasons: reasons}}
}

// Because is a reason of Canceled.
func Because(code string, stored item.Attributes) types.CancellationReason {
	return types.CancellationReason{Code: aws.String(code), Item: stored}
}

// Stored answers a GetItem.
func Stored(a item.Attributes) Answer { return Answer{Out: &dynamodb.GetItemOutput{Item: a}} }

// Page answers a Query; last is the sort key that it ended at, "" for the end.
func Page(last string, items ...item.Attributes) Answer {
	out := &dynamodb.QueryOutput{Items: items}
	if last != "" {
		out.LastEvaluatedKey = Item("p", last, nil)
	}
	return Answer{Out: out}
}

// Calls returns the calls so far.
func (c *Client) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Names returns the names of the calls so far.
func (c *Client) Names() []string {
	var names []string
	for _, call := range c.Calls() {
		names = append(names, call.Name)
	}
	return names
}

// Reads describes the reads that were sent: "q" is a query, "r" a GetItem, with a capital if
// it is strongly consistent; other calls are named.
func (c *Client) Reads() (text string) {
	for _, call := range c.Calls() {
		switch in := call.Input.(type) {
		case *dynamodb.QueryInput:
			text += map[bool]string{false: "q", true: "Q"}[aws.ToBool(in.ConsistentRead)]
		case *dynamodb.GetItemInput:
			text += map[bool]string{false: "r", true: "R"}[aws.ToBool(in.ConsistentRead)]
		default:
			text += call.Name
		}
	}
	return text
}

// Left returns the number of unused answers.
func (c *Client) Left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.Answers)
	for _, all := range c.At {
		n += len(all)
	}
	return n
}

// next records a call, and returns its answer.
func (c *Client) next(call Call) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	var a Answer
	switch {
	case len(c.At[call.Name]) > 0:
		a, c.At[call.Name] = c.At[call.Name][0], c.At[call.Name][1:]
	case len(c.Answers) > 0:
		a, c.Answers = c.Answers[0], c.Answers[1:]
	default:
		return Answer{
			Err:      fmt.Errorf("the script has no answer to %s", call.Name),
			Attempts: []int{http.StatusBadRequest},
		}
	}
	return a
}

// call answers a call.
func call[Out any](ctx context.Context, c *Client, name string, input any, options []func(*dynamodb.Options)) (*Out,
	error,
) {
	if err := CheckInput(input); err != nil {
		return nil, err
	}
	wire := &attempts{}
	o := dynamodb.Options{HTTPClient: wire}
	if !c.Unwatched {
		for _, f := range options {
			f(&o)
		}
	}
	_, once := o.Retryer.(aws.NopRetryer)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	this := Call{name, input, once}
	a := c.next(this)
	if a.Do != nil {
		a.Do(this)
	}
	if wire.left = a.Attempts; len(wire.left) == 0 {
		wire.left = []int{statusOf(a.Err)}
	}
	for range len(wire.left) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://dynamodb.test", nil)
		if err != nil {
			return nil, err
		}
		if resp, err := o.HTTPClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	if a.Err != nil {
		return nil, a.Err
	}
	if a.Out == nil {
		return new(Out), nil
	}
	return a.Out.(*Out), nil
}

// statusOf returns the status of the response with an error.
func statusOf(err error) int {
	var api smithy.APIError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &api) && api.ErrorFault() != smithy.FaultServer:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// attempts is the connection of a call.
type attempts struct{ left []int }

// Do sends an attempt.
func (a *attempts) Do(*http.Request) (*http.Response, error) {
	status := a.left[0]
	a.left = a.left[1:]
	switch status {
	case Lost:
		return nil, ErrDropped
	case Unreachable:
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func at(operation string, key item.Attributes) string {
	if sk, ok := attr.ScalarOf(key["SK"]); ok {
		return operation + " " + sk.Plain()
	}
	return operation
}

// GetItem is the client's.
func (c *Client) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return call[dynamodb.GetItemOutput](ctx, c, at("GetItem", in.Key), in, o)
}

// BatchGetItem is the client's.
func (c *Client) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return call[dynamodb.BatchGetItemOutput](ctx, c, "BatchGetItem", in, o)
}

// Query is the client's. Its input is recorded as it was at the call.
func (c *Client) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	was := *in
	return call[dynamodb.QueryOutput](ctx, c, "Query", &was, o)
}

// Scan is the client's.
func (c *Client) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	was := *in
	return call[dynamodb.ScanOutput](ctx, c, "Scan", &was, o)
}

// PutItem is the client's.
func (c *Client) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return call[dynamodb.PutItemOutput](ctx, c, at("PutItem", in.Item), in, o)
}

// UpdateItem is the client's.
func (c *Client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return call[dynamodb.UpdateItemOutput](ctx, c, at("UpdateItem", in.Key), in, o)
}

// DeleteItem is the client's.
func (c *Client) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return call[dynamodb.DeleteItemOutput](ctx, c, at("DeleteItem", in.Key), in, o)
}

// TransactGetItems is the client's.
func (c *Client) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	return call[dynamodb.TransactGetItemsOutput](ctx, c, "TransactGetItems", in, o)
}

// TransactWriteItems is the client's.
func (c *Client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return call[dynamodb.TransactWriteItemsOutput](ctx, c, "TransactWriteItems", in, o)
}

var placeholder = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// CheckInput returns what DynamoDB would say of an input's placeholders: each that an
// expression uses is given, and each that is given is used.
func CheckInput(input any) error {
	if in, ok := input.(*dynamodb.TransactWriteItemsInput); ok {
		for _, it := range in.TransactItems {
			for _, one := range []any{it.Put, it.Update, it.Delete, it.ConditionCheck} {
				if !reflect.ValueOf(one).IsNil() {
					if err := CheckInput(one); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	used := map[string]bool{}
	for _, text := range expressions(input) {
		for _, p := range placeholder.FindAllString(text, -1) {
			used[p] = true
		}
	}
	names, values := placeholders(input)
	for p, name := range names {
		if name == "" || !used[p] {
			return fmt.Errorf("the name %s is %q, used: %v", p, name, used[p])
		}
	}
	for p, v := range values {
		if v == nil || !used[p] {
			return fmt.Errorf("the value %s is %v, used: %v", p, v, used[p])
		}
	}
	if len(used) != len(names)+len(values) {
		return fmt.Errorf("%d placeholders are used, and %d names and %d values given", len(used), len(names),
			len(values))
	}
	return nil
}

// expressions returns the expressions in an input, by the fields' names.
func expressions(input any) map[string]string {
	out := map[string]string{}
	v := reflect.ValueOf(input).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !strings.HasSuffix(name, "Expression") {
			continue
		}
		if text, ok := v.Field(i).Interface().(*string); ok && text != nil {
			out[name] = *text
		}
	}
	return out
}

func placeholders(input any) (map[string]string, item.Attributes) {
	v := reflect.ValueOf(input).Elem()
	names, values := v.FieldByName("ExpressionAttributeNames"), v.FieldByName("ExpressionAttributeValues")
	if !names.IsValid() || !values.IsValid() {
		return nil, nil
	}
	n, _ := names.Interface().(map[string]string)
	a, _ := values.Interface().(item.Attributes)
	return n, a
}

// Condition returns an input's condition with its placeholders filled in.
func Condition(input any) string { return fill(input, "ConditionExpression") }

// Updates returns an input's update expression with its placeholders filled in.
func Updates(input any) string { return fill(input, "UpdateExpression") }

// KeyCondition returns a query's key condition with its placeholders filled in.
func KeyCondition(input any) string { return fill(input, "KeyConditionExpression") }

func fill(input any, field string) string {
	names, values := placeholders(input)
	return Expand(expressions(input)[field], names, values)
}

// Expand fills in the placeholders of an expression.
func Expand(text string, names map[string]string, values item.Attributes) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		if p[0] == '#' {
			return names[p]
		}
		return Show(values[p])
	})
}

// Show shows a value in short.
func Show(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "'" + v.Value + "'"
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "b'" + string(v.Value) + "'"
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberM:
		var all []string
		for name, e := range v.Value {
			all = append(all, name+": "+Show(e))
		}
		slices.Sort(all)
		return "{" + strings.Join(all, ", ") + "}"
	}
	return fmt.Sprintf("%T", v)
}
