// Package otel exports the calls of mappers to OpenTelemetry: a span for each call, and metrics of
// requests and capacity units. It is a separate module, so that package mapper does not depend on
// OpenTelemetry.
//
//	observer, err := otel.New(otelapi.GetTracerProvider(), otelapi.GetMeterProvider())
//	users, err := mapper.New[User](client, mapper.Observe(observer))
//
// A span has the name of the operation and the model ("Save store.User"). By the semantic conventions,
// spans and metrics have the attributes db.system.name ("aws.dynamodb"), db.operation.name and, for a
// single table, db.collection.name. They also have itemize.model, and spans have
// aws.dynamodb.table_names. If a call fails, its span has the type of the error as error.type and as
// the description of its status. Error texts contain the keys of items, which can be personal data, so
// spans have them only with [ErrorTexts]. No span or metric contains values of attributes. ErrNotFound
// is an answer, and not counted as an error.
//
// A recorded span has aws.dynamodb.consumed_capacity: for each table the sum of the capacity that
// DynamoDB reported for the requests of the call, in the JSON of ConsumedCapacity. If the call sent
// queries or scans, the span has the sums aws.dynamodb.count and aws.dynamodb.scanned_count.
//
// The metrics are counters: itemize.calls, itemize.errors and itemize.requests. The predicted capacity
// units are itemize.wcu.least, itemize.wcu.expected and itemize.wcu.most, which differ if the price is
// not exact, and the same for itemize.rcu. The consumed capacity is itemize.wcu.consumed and
// itemize.rcu.consumed; itemize.wcu.indexes is the part of the first for indexes. itemize.vector.bytes
// are the bytes that writes to vector indexes consumed. itemize.wcu.refused is the part of
// itemize.wcu.expected for writes whose condition failed, which DynamoDB charges and does not report.
// The histogram db.client.operation.duration is in seconds.
package otel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/mapper"
)

const scope = "github.com/itemize/itemize/contrib/otel"

// observer is a mapper.Observer.
type observer struct {
	tracer                       trace.Tracer
	calls, errs, requests        metric.Int64Counter
	wcu, rcu                     predicted
	usedW, usedR, usedX, refused metric.Float64Counter
	vectors                      metric.Float64Counter
	duration                     metric.Float64Histogram
	texts                        bool
}

// Option changes what an observer exports.
type Option func(*observer)

// ErrorTexts exports the text of each error, as the description of the span's status and as an
// exception event. The text contains the keys of items, but no values of attributes.
func ErrorTexts() Option { return func(o *observer) { o.texts = true } }

// predicted has the counters of one kind of units.
type predicted struct{ least, expected, most metric.Float64Counter }

func (p predicted) add(ctx context.Context, u cost.Units, with metric.MeasurementOption) {
	p.least.Add(ctx, u.Min, with)
	p.expected.Add(ctx, u.Expected, with)
	p.most.Add(ctx, u.Max, with)
}

// New returns an observer for mapper.Observe. The error comes from the meter provider.
func New(t trace.TracerProvider, m metric.MeterProvider, options ...Option) (mapper.Observer, error) {
	meter := m.Meter(scope)
	o := &observer{tracer: t.Tracer(scope)}
	for _, set := range options {
		set(o)
	}
	var errs []error
	count := func(name, about string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(about))
		errs = append(errs, err)
		return c
	}
	units := func(name, about string) metric.Float64Counter {
		c, err := meter.Float64Counter(name, metric.WithDescription(about), metric.WithUnit("{capacity_unit}"))
		errs = append(errs, err)
		return c
	}
	o.calls = count("itemize.calls", "Calls of mappers")
	o.errs = count("itemize.errors", "Calls that ended in an error, but those that found nothing")
	o.requests = count("itemize.requests", "Requests to DynamoDB")
	of := func(name, about string) predicted {
		return predicted{
			units(name+".least", about+" as predicted, at least"),
			units(name+".expected", about+" as predicted, if nothing unlikely is in the way"),
			units(name+".most", about+" as predicted, at most"),
		}
	}
	o.wcu, o.rcu = of("itemize.wcu", "Write capacity units"), of("itemize.rcu", "Read capacity units")
	o.usedW = units("itemize.wcu.consumed", "Write capacity units as DynamoDB reported them")
	o.usedR = units("itemize.rcu.consumed", "Read capacity units as DynamoDB reported them")
	o.usedX = units("itemize.wcu.indexes", "Write capacity units that indexes took, as DynamoDB reported them")
	var err error
	o.vectors, err = meter.Float64Counter("itemize.vector.bytes", metric.WithUnit("By"),
		metric.WithDescription("Bytes that writes to vector indexes took, as DynamoDB reported them"))
	errs = append(errs, err)
	o.refused = units("itemize.wcu.refused",
		"Write capacity units of refused writes, which DynamoDB charges and does not report, as expected")
	o.duration, err = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls of mappers"))
	return o, errors.Join(append(errs, err)...)
}

// Begin starts a span.
func (o *observer) Begin(ctx context.Context, c mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	attributes := []attribute.KeyValue{
		attribute.String("db.system.name", "aws.dynamodb"), attribute.String("db.operation.name", string(c.Operation)),
		attribute.String("itemize.model", c.Model),
	}
	if len(c.Tables) == 1 {
		attributes = append(attributes, attribute.String("db.collection.name", c.Tables[0]))
	}
	start := time.Now()
	ctx, span := o.tracer.Start(ctx, string(c.Operation)+" "+c.Model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...),
		trace.WithAttributes(attribute.StringSlice("aws.dynamodb.table_names", c.Tables)))
	var reported *wire.Reported
	if span.IsRecording() {
		ctx, reported = wire.Collect(ctx)
	}
	return ctx, func(r *mapper.Receipt, err error) {
		with := metric.WithAttributes(attributes...)
		o.calls.Add(ctx, 1, with)
		o.requests.Add(ctx, int64(r.Predicted().Requests), with)
		o.wcu.add(ctx, r.Predicted().WCU, with)
		o.rcu.add(ctx, r.Predicted().RCU, with)
		o.usedW.Add(ctx, r.Consumed.WCU, with)
		o.usedR.Add(ctx, r.Consumed.RCU, with)
		o.refused.Add(ctx, r.Refused.Expected, with)
		for _, n := range r.Consumed.Indexes {
			o.usedX.Add(ctx, n, with)
		}
		for _, n := range r.Consumed.VectorBytes {
			o.vectors.Add(ctx, n, with)
		}
		o.duration.Record(ctx, time.Since(start).Seconds(), with)
		span.SetAttributes(
			attribute.Int("itemize.requests", r.Predicted().Requests), attribute.Int("itemize.items",
				len(r.Predicted().Items)),
			attribute.Float64("itemize.wcu.consumed", r.Consumed.WCU), attribute.Float64("itemize.rcu.consumed",
				r.Consumed.RCU),
		)
		span.SetAttributes(dynamodb(reported)...)
		if err != nil && !errors.Is(err, mapper.ErrNotFound) {
			o.errs.Add(ctx, 1, with)
			text := typeOf(err)
			span.SetAttributes(attribute.String("error.type", text))
			span.SetAttributes(throttling(err)...)
			if o.texts {
				text = err.Error()
				span.RecordError(err)
			}
			span.SetStatus(codes.Error, text)
		}
		span.End()
	}
}

// dynamodb returns the attributes of DynamoDB's semantic conventions for the reported capacity, nil for none.
func dynamodb(r *wire.Reported) []attribute.KeyValue {
	if r == nil {
		return nil
	}
	var all []attribute.KeyValue
	var texts []string
	for _, t := range r.Tables() {
		if text, err := json.Marshal(t); err == nil {
			texts = append(texts, string(text))
		}
	}
	if texts != nil {
		all = append(all, attribute.StringSlice("aws.dynamodb.consumed_capacity", texts))
	}
	if count, scanned, ok := r.Items(); ok {
		all = append(all, attribute.Int("aws.dynamodb.count", count),
			attribute.Int("aws.dynamodb.scanned_count", scanned))
	}
	return all
}

// throttling returns the reasons of a throttled call, by DynamoDB's names, which have no keys and no values.
func throttling(err error) []attribute.KeyValue {
	var throttled *mapper.ThrottledError
	if !errors.As(err, &throttled) || len(throttled.Reasons) == 0 {
		return nil
	}
	names := make([]string, len(throttled.Reasons))
	for i, r := range throttled.Reasons {
		names[i] = r.Reason
	}
	return []attribute.KeyValue{attribute.StringSlice("itemize.throttling.reasons", names)}
}

// typeOf returns the error.type of a call. There are few values, mapper's own errors first.
func typeOf(err error) string {
	var conflict *mapper.ConflictError
	var unknown *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	var value *mapper.ValueError
	var throttled *mapper.ThrottledError
	switch {
	case errors.As(err, &partial):
		return "mapper.PartialError"
	case errors.As(err, &unknown):
		return "mapper.OutcomeUnknownError"
	case errors.Is(err, mapper.ErrExists):
		return "mapper.ErrExists"
	case errors.As(err, &conflict):
		return "mapper.ConflictError"
	case errors.As(err, &value):
		return "mapper.ValueError"
	case errors.As(err, &throttled):
		return "mapper.ThrottledError"
	case errors.Is(err, context.Canceled):
		return "context.Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "context.DeadlineExceeded"
	}
	return fmt.Sprintf("%T", err)
}
