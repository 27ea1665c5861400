package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
)

// Function is the handler of a Lambda function.
type Function struct {
	router   *Router
	parallel int
	failed   func(context.Context, *Record, error)
	mu       sync.Mutex
	deleted  deletions
}

// LambdaOption is an option of Lambda.
type LambdaOption func(*Function)

// Parallel handles the records of up to n partition keys at the same time. The default is 1.
func Parallel(n int) LambdaOption { return func(f *Function) { f.parallel = n } }

// OnFailure sets the function that is called for each record that fails. The default logs the error with package slog,
// with the key of the item.
func OnFailure(f func(context.Context, *Record, error)) LambdaOption {
	return func(l *Function) { l.failed = f }
}

// Lambda returns a handler for the events of an event source mapping from a table's stream:
//
//	lambda.Start(stream.Lambda(router)) // package lambda of aws-lambda-go
//
// It has the method of aws-lambda-go's interface lambda.Handler, and does not need that module. The event source
// mapping needs FunctionResponseTypes ReportBatchItemFailures: itemize tables -events writes it.
//
// If a handler fails, the later records of the same partition key are left out, and the other records are handled. The
// response has the first failure of each partition key. Lambda repeats the batch from the earliest of them.
func Lambda(r *Router, options ...LambdaOption) *Function {
	if r == nil {
		panic("stream.Lambda: the router is nil: make it with stream.NewRouter")
	}
	f := &Function{router: r, parallel: 1, failed: logged}
	for _, o := range options {
		if o != nil {
			o(f)
		}
	}
	switch {
	case f.parallel < 1:
		panic(fmt.Sprintf("stream.Lambda: Parallel(%d): pass 1 or more, or leave out the option", f.parallel))
	case f.failed == nil:
		panic("stream.Lambda: the function of OnFailure is nil: leave out the option for its default")
	}
	return f
}

func logged(_ context.Context, rec *Record, err error) {
	slog.Error("change stream", "table", rec.Table, "key", textOfKeys(rec.Keys), "record", rec.SequenceNumber,
		"error", err)
}

// Response is the response of a Lambda function. Failures is never nil: without records it means that all of them were
// handled.
type Response struct {
	Failures []Failure `json:"batchItemFailures"`
}

// Failure names a record by its sequence number.
type Failure struct {
	SequenceNumber string `json:"itemIdentifier"`
	// Err is the error of the handler.
	Err error `json:"-"`
}

// Invoke handles the JSON of an event, and returns that of a Response. The error is about the event itself: it is no
// event of a DynamoDB stream, or its stream lacks images (*ViewError).
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	r, err := f.Handle(ctx, event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// Handle is Invoke for a handler of your own, such as one that logs the errors of records.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (*Response, error) {
	if ctx == nil {
		return nil, model.Usagef("stream: the context of the function is nil: pass that of the runtime")
	}
	records, err := recordsOf(event)
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := f.router.check(&records[i].Record); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &Response{Failures: []Failure{}}
	for _, failed := range f.dispatch(ctx, records) {
		out.Failures = append(out.Failures, Failure{records[failed.at].SequenceNumber, failed.err})
		rec := &records[failed.at].Record
		if err := guarded(func() error { f.failed(ctx, rec, failed.err); return nil }); err != nil {
			slog.Error("change stream: the function of OnFailure failed", "failure", err)
			logged(ctx, rec, failed.err)
		}
	}
	return out, nil
}

// failed is the failure of the record with an index.
type failed struct {
	at  int
	err error
}

// dispatch handles records, in the order of each partition key. It returns the first failure of each, in their order.
func (f *Function) dispatch(ctx context.Context, records []eventRecord) []failed {
	keys := make([]string, len(records))
	for i := range records {
		keys[i] = f.router.orderOf(&records[i].Record)
	}
	inOrder(context.WithoutCancel(ctx), max(f.parallel, 1), keys, func(i, exits int) bool {
		rec := &records[i]
		if exits > 0 {
			rec.err = errExited
		}
		if rec.err == nil {
			rec.err = f.router.handle(ctx, &rec.Record, &f.deleted)
		}
		return rec.err == nil
	})
	var out []failed
	failing := map[string]bool{}
	for i := range records {
		if records[i].err != nil && !failing[keys[i]] {
			failing[keys[i]] = true
			out = append(out, failed{i, records[i].err})
		}
	}
	return out
}

// eventRecord is a record of an event. err is the fault of its images.
type eventRecord struct {
	Record
	err error
}

// recordsOf reads the JSON of an event.
func recordsOf(event []byte) ([]eventRecord, error) {
	var in struct {
		Positions json.RawMessage `json:"DDBStreamBatchInfo"`
		Records   *[]struct {
			ID       string `json:"eventID"`
			Source   string `json:"eventSource"`
			ARN      string `json:"eventSourceARN"`
			DynamoDB *struct {
				Time     float64 `json:"ApproximateCreationDateTime"`
				Keys     json.RawMessage
				OldImage json.RawMessage
				NewImage json.RawMessage
				Number   string `json:"SequenceNumber"`
				View     string `json:"StreamViewType"`
			} `json:"dynamodb"`
			User struct {
				Principal string `json:"principalId"`
			} `json:"userIdentity"`
		}
	}
	if text := bytes.TrimSpace(event); len(text) > 0 && text[0] == '[' {
		return nil, errors.New("stream: invalid event: it is a list, as a pipe sends it: connect the function to the " +
			"stream by an event source mapping")
	}
	if err := json.Unmarshal(event, &in); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			err = fmt.Errorf("%s: a JSON %s: pass the event as Lambda sends it", cmp.Or(kind.Field, "the event"),
				kind.Value)
		}
		return nil, fmt.Errorf("stream: invalid event: %w", err)
	}
	if in.Positions != nil {
		return nil, errors.New("stream: the event has positions and no records: it is a message of the queue " +
			"for failures: pass it to Redrive")
	}
	if in.Records == nil {
		return nil, errors.New("stream: the event has no Records: connect the function to the stream of a table " +
			"by an event source mapping")
	}
	out := make([]eventRecord, len(*in.Records))
	for i, r := range *in.Records {
		if r.DynamoDB != nil && r.DynamoDB.Number == "" {
			return nil, fmt.Errorf("stream: invalid event: record %d has no SequenceNumber", i)
		}
		if r.DynamoDB == nil || r.Source != "" && r.Source != "aws:dynamodb" {
			return nil,
				fmt.Errorf("stream: record %d of the event is from %q: connect the function to the stream of a "+
					"table (aws:dynamodb)", i, r.Source)
		}
		rec := &out[i]
		seconds, fraction := math.Modf(r.DynamoDB.Time)
		rec.Record = Record{
			Table: tableOf(r.ARN), ID: r.ID, SequenceNumber: r.DynamoDB.Number, View: r.DynamoDB.View,
			Time: time.Unix(int64(seconds), int64(fraction*1e9)).UTC(), Expired: r.User.Principal == expiry,
		}
		for _, m := range []struct {
			from json.RawMessage
			to   *map[string]types.AttributeValue
		}{{r.DynamoDB.Keys, &rec.Keys}, {r.DynamoDB.OldImage, &rec.Old}, {r.DynamoDB.NewImage, &rec.New}} {
			if len(m.from) == 0 || string(m.from) == "null" {
				continue
			}
			var err error
			if *m.to, err = attributevalue.UnmarshalMapJSON(m.from); err != nil && rec.err == nil {
				rec.err = fmt.Errorf("stream: record %s: invalid image: it is no DynamoDB JSON", r.ID)
			}
			if len(*m.to) == 0 {
				*m.to = nil
			}
		}
	}
	return out, nil
}

// tableOf returns the table's name in the ARN of its stream, "" for another text.
func tableOf(arn string) string {
	_, rest, ok := strings.Cut(arn, ":table/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
