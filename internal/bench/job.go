package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/bench/store"
)

// Job is one piece of work that each library does in its own way. It is run again and again, with a number that
// is another one each time.
type Job func(ctx context.Context, i int) error

// Names of the jobs, in the order of the table. Those of Reading read.
const (
	Small  = "insert-1-item"
	Get    = "load-1-item"
	Touch  = "save-1-item"
	Insert = "insert-20-items"
	Load   = "load-20-items"
	Change = "change-one-attribute"
	Add    = "add-a-wish"
	Month  = "one-month"
	Page   = "full-page"
	Bulk   = "bulk-load-500-items"
)

// Jobs are the names of all jobs, Reading those that read.
var (
	Jobs    = []string{Small, Get, Touch, Insert, Load, Change, Add, Month, Page, Bulk}
	Reading = []string{Get, Load, Month, Page}
)

// Library is one of those that are compared. Open returns its jobs on a table, which has the keys PK and SK;
// a job that it cannot do is missing. Fill stores what the jobs read and change; FillPage what the full page has.
type Library struct {
	Name string
	Open func(c *dynamodb.Client, table string) (*Opened, error)
	// Lacks are the jobs that it has not.
	Lacks []string
	// Kept returns a function that reads the full page, and returns one short string of it; nil for a library whose
	// strings are all copies.
	Kept func(c *dynamodb.Client, table string) (func(ctx context.Context) (string, error), error)
}

// Opened is a library at work.
type Opened struct {
	Fill, FillPage func(ctx context.Context) error
	Jobs           map[string]Job
	Close          func() error // nil for nothing to close
}

// Libraries are the libraries to compare; the others are compared with the first.
var Libraries = []Library{
	{Name: "sdk", Open: openSDK, Kept: keptSDK},
	{Name: "sdk-same", Open: openSame},
	{Name: "guregu", Open: openGuregu},
	{Name: "docstore", Open: openDocstore, Lacks: []string{Small, Get, Touch, Insert, Load}},
	{Name: "itemize", Open: openItemize, Kept: keptCopied},
	{Name: "itemize-shared", Open: openShared, Kept: keptShared},
	{Name: "itemize-reflected", Open: openReflected, Lacks: []string{Small, Get, Touch}},
}

var errWrong = errors.New("the result differs from the stored value")

// check reports whether a job found what it had to.
func check(ok bool, what any) error {
	if !ok {
		return fmt.Errorf("%w: %v", errWrong, what)
	}
	return nil
}

// checkMonth and checkPage report whether the wishes of these jobs were found.
func checkMonth(got []store.Wish) error {
	return check(len(got) == 8 && got[7].SKU == "SKU-7", len(got))
}

// checkPage is described at checkMonth.
func checkPage(got []store.Wish) error {
	return check(len(got) == page && got[7].Tags[1] == "blue" && got[9].Qty == 9, len(got))
}
