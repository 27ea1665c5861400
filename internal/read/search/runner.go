package search

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/save/write"
)

// Runner is the inside of a mapper, as queries need it.
type Runner interface {
	// Run yields the hits that a request asks for.
	Run(ctx context.Context, r Request, u *read.Usage) iter.Seq2[Hit, error]
	// Page returns those of one page, and the cursor behind them.
	Page(ctx context.Context, r Request, u *read.Usage) ([]Hit, string, error)
	// Input returns the first request.
	Input(r Request) (*dynamodb.QueryInput, error)
	// PlanQuery returns the least number of requests, and the units of the first answers,
	// without I/O.
	PlanQuery(r Request) (requests, rcu cost.Units, err error)
	// Search returns a search for a request. Begin reports the start of a search to observers.
	Search(r Request, u *read.Usage) (*Search, error)
	Begin(ctx context.Context) (_ context.Context, end func(*read.Usage, error))
	// Deliver hands the receipt of a read to who asked for it.
	Deliver(s Settings, u *read.Usage)
}

// Settings are the values of the options of reads.
type Settings struct {
	Strong bool
	// Receive is called when the read has ended, with its cost and the tables that it passed over. It
	// is nil if the caller did not ask for it.
	Receive func(t *write.Tally, skipped []string)
	Scatter Scatter
	// SkipMissing is described at Request.
	SkipMissing bool
	// Root also reads the root item of a load.
	Root bool
	// Tag is the token of the state that a load requires, nil for none.
	Tag *string
}
