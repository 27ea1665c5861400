package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/itemize/itemize/stream"
)

// ObserveStream exports the numbers of a consumer of a change stream, with the given attributes, such as the table and
// the group. The gauges are itemize.stream.shards, itemize.stream.behind, itemize.stream.lag and
// itemize.stream.last.age (the last two in seconds). The counters are itemize.stream.handled,
// itemize.stream.unmatched, itemize.stream.retries, itemize.stream.dead_letters, itemize.stream.trimmed and
// itemize.stream.errors. stream.Stats describes them. They end with the meter provider.
// The error comes from it.
func ObserveStream(m metric.MeterProvider, c *stream.Consumer, attributes ...attribute.KeyValue) error {
	meter := m.Meter(scope)
	var errs []error
	var all []metric.Observable
	seconds := func(name, about string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, metric.WithDescription(about), metric.WithUnit("s"))
		errs, all = append(errs, err), append(all, g)
		return g
	}
	count := func(name, about string) metric.Int64ObservableCounter {
		g, err := meter.Int64ObservableCounter(name, metric.WithDescription(about))
		errs, all = append(errs, err), append(all, g)
		return g
	}
	gauge := func(name, about string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithDescription(about))
		errs, all = append(errs, err), append(all, g)
		return g
	}
	shards := gauge("itemize.stream.shards", "Shards that this worker reads")
	behind := gauge("itemize.stream.behind", "Shards that have not been read to their ends")
	lag := seconds("itemize.stream.lag", "Longest time for which changes may have waited")
	last := seconds("itemize.stream.last.age", "Age of the newest handled record")
	handled := count("itemize.stream.handled", "Handled records")
	unmatched := count("itemize.stream.unmatched", "Handled records of no model")
	retries := count("itemize.stream.retries", "Calls of handlers that failed")
	letters := count("itemize.stream.dead_letters", "Dead letters")
	trimmed := count("itemize.stream.trimmed", "Gaps: records that were trimmed before they were read")
	failed := count("itemize.stream.errors", "Errors that the consumer survived")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	with := metric.WithAttributes(attributes...)
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := c.Stats()
		o.ObserveInt64(shards, int64(s.Shards), with)
		o.ObserveInt64(behind, int64(s.Behind), with)
		o.ObserveFloat64(lag, s.Lag.Seconds(), with)
		o.ObserveFloat64(last, s.Last.Seconds(), with)
		o.ObserveInt64(handled, s.Handled, with)
		o.ObserveInt64(unmatched, s.Unmatched, with)
		o.ObserveInt64(retries, s.Retried, with)
		o.ObserveInt64(letters, s.DeadLetters, with)
		o.ObserveInt64(trimmed, s.Trimmed, with)
		o.ObserveInt64(failed, s.Errors, with)
		return nil
	}, all...)
	return err
}
