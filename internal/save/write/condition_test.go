package write

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/testing/draws"
)

// Items of a transaction share the text and the names of a condition if these are equal. Otherwise each
// request is the same as it would be alone.
func TestConditionsAreShared(t *testing.T) {
	draw := rand.New(rand.NewPCG(draws.Seed(t), 0))
	now := time.Unix(1_600_000_000, 0)
	tables := []*item.Table{{Name: "t", Hash: "PK", Range: "SK"}, {Name: "u", Hash: "K"}}
	request := func(i int) *Request {
		r := &Request{
			Kind: []Kind{Put, Update, Delete, Check}[draw.IntN(4)],
			Place: item.Place{
				Table: tables[draw.IntN(2)], PK: key.Scalar{Type: 'S', Text: "p"},
				SK: key.Scalar{Type: 'S', Text: strconv.Itoa(i)},
			},
			Reserved: []item.Reserved{{Version: "_v"}, {Version: "_v", TTL: "ttl"}, {}}[draw.IntN(3)],
		}
		r.Put, r.Set = r.Key(), []item.Assignment{{Name: "x", Value: item.NewToken()}}
		switch draw.IntN(4) {
		case 0:
			r.Expect.Absent = true
		case 1:
			r.Expect.Present = true
		case 2:
			r.Expect.Version = item.NewToken()
		}
		if draw.IntN(3) == 0 {
			name := "n" + strconv.Itoa(draw.IntN(3))
			r.Expect.Terms = []attr.Condition{AtLeast(item.Assignment{Name: name, Value: item.NewToken()})}
		}
		r.Prepare()
		return r
	}
	for range draws.Times(2_000, 4_000, 50_000) {
		var c condition
		var inOne, alone []types.TransactWriteItem
		for i := range 6 {
			r := request(i)
			inOne, alone = append(inOne, r.transactItem(now, &c)),
				append(alone, r.transactItem(now, new(condition)))
		}
		if !reflect.DeepEqual(inOne, alone) {
			t.Fatalf("together %v, alone %v", inOne, alone)
		}
	}
}

// A condition that the code of a program has seen, and may have changed, is not sent with another request.
func TestConditionOfSeenRequestIsNotUsedAgain(t *testing.T) {
	r := &Request{Kind: Put, Place: item.Place{Table: &item.Table{Name: "t", Hash: "PK"}}, Expect: Expect{Absent: true}}
	for range 100 {
		seen := newCondition(false).of(r, time.Now())
		*seen.text = "changed"
		seen.release()
		c := newCondition(true).of(r, time.Now())
		if *c.text != "attribute_not_exists(#0)" {
			t.Fatal(*c.text)
		}
		c.release()
	}
}
