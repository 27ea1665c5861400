// Package beam runs a migration as an Apache Beam pipeline (Go SDK), on Dataflow, Flink, Spark or the
// local runner, if one machine is not enough. Each segment of the source is an element, which
// [migrate.Migration.Run] moves within one bundle. Its progress is stored in the model's table, so a
// bundle that is tried again continues, and one that runs twice at once does no harm.
//
// The command itemize-beam is such a pipeline.
package beam

import (
	"context"
	"fmt"
	"reflect"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/migrate"
)

func init() {
	register.DoFn3x1[context.Context, int, func(Result), error](&moveFn{})
	register.Emitter1[Result]()
	sdk.RegisterType(reflect.TypeFor[Result]())
}

// Job is the work of a pipeline. It is sent to the workers with the pipeline, except for credentials,
// Region and endpoint: workers use their own environment or role (AWS_REGION,
// AWS_ENDPOINT_URL_DYNAMODB).
type Job struct {
	// Lock is the content of the lock file of the model's package.
	Lock []byte
	// Model is the name of the model, Source the table of the monoliths.
	Model, Source string
	// Tables maps the declared table names of the model to the real ones.
	Tables map[string]string
	// Hash and Sort are the arguments of migrate.Keys, both "" if the keys are fields.
	Hash, Sort string
	// Segments is the number of elements: use several for each worker.
	Segments int
	// WriteRate limits the WCU a second of all segments together, 0 for no limit. Each segment has an
	// equal share.
	WriteRate float64
}

// Result is the result of one bundle for a segment.
type Result struct {
	Segment int
	Report  migrate.Report
}

// Move adds the migration to a pipeline. It returns a Result for each segment.
func Move(s sdk.Scope, j Job) (sdk.PCollection, error) {
	if _, err := migrate.ParseLayout(j.Lock, j.Model); err != nil {
		return sdk.PCollection{}, err
	}
	if j.Segments < 1 || j.WriteRate < 0 || j.Source == "" {
		return sdk.PCollection{},
			fmt.Errorf("%s: a job needs a source, at least one segment, and a rate of 0 or more: %q, %d, %v", j.Model,
				j.Source, j.Segments, j.WriteRate)
	}
	all := make([]int, j.Segments)
	for i := range all {
		all[i] = i
	}
	return move(s, j, all), nil
}

// move moves segments. They are shuffled, so that each is its own bundle.
func move(s sdk.Scope, j Job, segments []int) sdk.PCollection {
	s = s.Scope("itemize.Move")
	return sdk.ParDo(s, &moveFn{Job: j}, sdk.Reshuffle(s, sdk.CreateList(s, segments)))
}

// moveFn moves a segment.
type moveFn struct {
	Job Job

	client *dynamodb.Client
	layout *migrate.Layout
}

var (
	moved = sdk.NewCounter("itemize", "moved")
	dead  = sdk.NewCounter("itemize", "dead")
	left  = sdk.NewCounter("itemize", "left")
)

// Setup makes the client of a worker.
func (f *moveFn) Setup(ctx context.Context) error {
	var err error
	if f.layout, err = migrate.ParseLayout(f.Job.Lock, f.Job.Model); err != nil {
		return err
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(10))
	if err != nil {
		return err
	}
	f.client = dynamodb.NewFromConfig(c)
	return nil
}

// ProcessElement moves a segment from its checkpoint.
func (f *moveFn) ProcessElement(ctx context.Context, segment int, emit func(Result)) error {
	o := []migrate.Option{migrate.Segment(segment, f.Job.Segments), migrate.Tables(f.name)}
	if f.Job.Hash != "" || f.Job.Sort != "" {
		o = append(o, migrate.Keys(f.Job.Hash, f.Job.Sort))
	}
	if f.Job.WriteRate > 0 {
		o = append(o, migrate.WriteRate(f.Job.WriteRate/float64(f.Job.Segments)))
	}
	m, err := migrate.Open(ctx, f.client, f.layout, f.Job.Source, o...)
	if err != nil {
		return err
	}
	r, err := m.Run(ctx)
	if err != nil {
		return err
	}
	moved.Inc(ctx, int64(r.This.Moved))
	dead.Inc(ctx, int64(r.This.Dead))
	left.Inc(ctx, int64(r.This.Conflicts))
	emit(Result{segment, *r})
	return nil
}

func (f *moveFn) name(table string) string {
	if to, ok := f.Job.Tables[table]; ok {
		return to
	}
	return table
}
