package query

import (
	"context"
	"iter"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
)

// Source is what a query runs on: a *mapper.Mapper[T].
type Source[T any] interface{ source(*T) Engine }

// Usage is what a read took. It is for the mapper.
type Usage = read.Usage

// Request is a query without its types. It is for the mapper.
type Request struct {
	Spec            selection.Selection
	Elem            reflect.Type
	Strong, Reverse bool
	// Limit is the number of elements that are wanted, 0 for all.
	Limit int
	// Filter are conditions that all have to hold.
	Filter     []condition.Condition
	Projection []Projected
	// KeysOnly asks for no more than what tells that an element is there.
	KeysOnly bool
	After    Cursor
}

// Projected is a field that a query reads, by its name in Go, "" where only its attribute
// is known. It is for the mapper.
type Projected struct{ Field, Attribute string }

// Hit is an element that was found. It is for the mapper.
type Hit struct {
	// Value is a pointer to it.
	Value                         any
	Field, Table, Partition, Sort string
}

// Engine is the inside of a mapper, as queries need it.
type Engine interface {
	// Run yields the elements that a request asks for.
	Run(ctx context.Context, r Request, u *Usage) iter.Seq2[Hit, error]
	// Page returns those of one page, and the cursor behind them.
	Page(ctx context.Context, r Request, u *Usage) ([]Hit, Cursor, error)
	// Input returns the first request.
	Input(r Request) (*dynamodb.QueryInput, error)
	// Foresee returns what a request would take, without I/O.
	Foresee(r Request) (*Plan, error)
	// Done reports the usage of a read to who asked for it.
	Done(options []ReadOption, u *Usage)
}

// Base makes a mapper a Source, by embedding.
type Base[T any] struct{ engine Engine }

// NewBase is for the mapper.
func NewBase[T any](e Engine) Base[T] { return Base[T]{e} }

func (b Base[T]) source(*T) Engine { return b.engine }

// ReadOption is an option of a read: mapper.Strong, mapper.Receive. Its method is for
// the packages of this module.
type ReadOption interface{ ReadOption(*ReadSettings) }

// ReadSettings are what read options set. Receipt is whatever mapper.Receive
// was given.
type ReadSettings struct {
	Strong  bool
	Receipt any
}
