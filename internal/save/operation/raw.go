package operation

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
)

// raw is the part that sends a request of the caller.
type raw struct {
	common
	request *write.Request
}

// Raw returns the part of a transaction that sends a request of the caller. tables returns the tables
// of the other parts' models by name, nil for others.
func Raw(part types.TransactWriteItem, tables func(string) *item.Table) (Part, error) {
	r, err := write.Raw(part, tables)
	if err != nil {
		return nil, errors.New("mapper.RawPart: " + err.Error())
	}
	if r.NewSize > cost.MaxItem {
		return nil, &TooLarge{Field: r.Field, Place: r.Place, Size: r.NewSize}
	}
	return &raw{request: r}, nil
}

func (p *raw) requests(*change.Readers) (Requests, error) {
	return Requests{Writes: []*write.Request{p.request}}, nil
}

func (p *raw) refused(_ context.Context, o *write.Outcome, _ *Tally) (retry bool, err error) {
	r := p.request
	at := ItemConflict{Place: r.Place, RawKey: r.RawKey, Field: r.Field, What: change.Changed}
	if len(o.Stored[0]) == 0 {
		at.What = change.Deleted
	}
	return false, &Conflict{Label: "mapper.RawPart", Raw: true, Items: []ItemConflict{at}}
}

// afterLoss: only the caller knows whether the request may be applied twice.
func (p *raw) afterLoss(*write.Outcome) afterLoss { return isUnknown }
