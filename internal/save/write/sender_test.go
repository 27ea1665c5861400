package write_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// prepared returns a request that is ready to be sent, with a version to write that tests
// know.
func prepared(r *write.Request) *write.Request {
	r.Prepare()
	if r.Token != nil {
		r.Token = B("mine")
	}
	return r
}

// loaded returns a request for an item whose version was read.
func loaded(r *write.Request) *write.Request {
	r.Expect = write.Expect{Version: B("v1")}
	return prepared(r)
}

// blind returns a request for an item that was not read.
func blind(r *write.Request) *write.Request {
	r.Expect = write.Expect{Blind: true, Present: true}
	return prepared(r)
}

func increment(r *write.Request) *write.Request {
	r.Operations = []item.Operation{{Op: item.OpIncrement, Path: []string{"n"}, Value: N("1")}}
	return blind(r)
}

var (
	before = item.Attributes{"_v": B("v1")}
	own    = item.Attributes{"_v": B("mine")}
	theirs = item.Attributes{"_v": B("theirs")}
)

func repeat(a Answer, n int) []Answer { return slices.Repeat([]Answer{a}, n) }

func script(all ...any) []Answer {
	var out []Answer
	for _, a := range all {
		switch a := a.(type) {
		case Answer:
			out = append(out, a)
		case []Answer:
			out = append(out, a...)
		}
	}
	return out
}

var states = map[write.State]string{
	write.Written: "written", write.Rejected: "rejected", write.Unknown: "unknown",
	write.Failed: "failed",
}

// describe describes an outcome: its state, the stored items, and whether the failure may be caused by
// an own earlier attempt. Such an attempt may be unknown, or only assumed.
func describe(o write.Outcome) string {
	text := states[o.State]
	for _, a := range o.Stored {
		switch {
		case a == nil:
			text += " -"
		case len(a) == 0:
			text += " nothing"
		default:
			text += " " + Show(a["_v"])
		}
	}
	if o.Unsure {
		text += " unsure"
	}
	if o.Unsure && o.Assumed {
		text += " assumed"
	}
	return text
}

// with returns an answer whose attempts meet these.
func with(a Answer, attempts ...int) Answer {
	a.Attempts = attempts
	return a
}

// The outcome of one request, by the answers that it gets. No request is reported as written or refused
// while its outcome is unknown.
func TestOne(t *testing.T) {
	throttled := Failed("ThrottlingException")
	for _, c := range []struct {
		name    string
		r       func() *write.Request
		answers []Answer
		want    string
		calls   string // of the item, in short
	}{
		{"a put", func() *write.Request { return prepared(put("A")) }, script(OK()), "written", "P"},
		{"an update", func() *write.Request { return loaded(update("A")) }, script(OK()), "written", "U"},
		{"a delete", func() *write.Request { return loaded(remove("A")) }, script(OK()), "written", "D"},
		{
			"refused, with what is stored", func() *write.Request { return loaded(update("A")) },
			script(Refused(theirs)),
			"rejected b'theirs'", "U",
		},
		{
			"refused, and nothing there", func() *write.Request { return loaded(update("A")) }, script(Refused(nil)),
			"rejected nothing", "U",
		},
		{
			"a delete refused, and nothing there", func() *write.Request { return loaded(remove("A")) },
			script(Refused(nil)), "rejected nothing", "D",
		},

		{
			"the answer lost, and written", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(own)), "written", "UG",
		},
		{
			"the answer lost, and as before", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(before), OK()), "written", "UGU",
		},
		{
			"the answer lost, and another's", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(theirs)), "rejected b'theirs' unsure", "UG",
		},
		{
			"the answer lost, and nothing there", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(nil)), "rejected nothing unsure", "UG",
		},
		{
			"a put's answer lost, and nothing there", func() *write.Request { return prepared(put("A")) },
			script(Dropped(), Stored(nil), OK()), "written", "PGP",
		},
		{
			"a put's answer lost, and written", func() *write.Request { return prepared(put("A")) },
			script(Dropped(), Stored(own)), "written", "PG",
		},
		{
			"a put's answer lost, and another's", func() *write.Request { return prepared(put("A")) },
			script(Dropped(), Stored(theirs)), "rejected b'theirs' unsure", "PG",
		},
		{
			"a delete's answer lost, and gone", func() *write.Request { return loaded(remove("A")) },
			script(Dropped(), Stored(nil)), "written", "DG",
		},
		{
			"a delete's answer lost, and as before", func() *write.Request { return loaded(remove("A")) },
			script(Dropped(), Stored(before), OK()), "written", "DGD",
		},
		{
			"a delete's answer lost, and another's", func() *write.Request { return loaded(remove("A")) },
			script(Dropped(), Stored(theirs)), "rejected b'theirs' unsure", "DG",
		},
		{
			"an error after the effect", func() *write.Request { return loaded(update("A")) },
			script(Failed("InternalServerError"), Stored(own)), "written", "UG",
		},

		{
			"sent again, and then refused by its own write", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(before), Refused(own)), "written", "UGU",
		},
		{
			"sent again, and then refused by another's", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(before), Refused(theirs)), "rejected b'theirs' unsure", "UGU",
		},
		{
			"a delete sent again, and nothing there", func() *write.Request { return loaded(remove("A")) },
			script(Dropped(), Stored(before), Refused(nil)), "written", "DGD",
		},
		{
			"the SDK lost an answer, and its retry met the own write",
			func() *write.Request { return loaded(update("A")) }, script(with(Refused(own), Lost, 400)), "written",
			"U",
		},
		{
			"the SDK lost an answer, and its retry met the incarnation that only the own write makes",
			func() *write.Request {
				r := put("A")
				r.Reserved, r.Incarnation = item.Reserved{}, B("x")
				return prepared(r)
			}, script(with(Refused(item.Attributes{"_a": B("x")}), Lost, 400)), "written", "P",
		},
		{
			"the SDK lost an answer, and its retry met another's", func() *write.Request { return loaded(update("A")) },
			script(with(Refused(theirs), 500, 400)), "rejected b'theirs' unsure", "U",
		},
		{
			"the SDK was throttled, and its retry met another's", func() *write.Request { return loaded(update("A")) },
			script(with(Refused(theirs), 400, 400)), "rejected b'theirs'", "U",
		},
		{
			"the SDK timed out, and its retry met another's", func() *write.Request { return loaded(update("A")) },
			script(with(Refused(theirs), 408, 400)), "rejected b'theirs' unsure", "U",
		},
		{
			"the SDK found no connection at first", func() *write.Request { return loaded(update("A")) },
			script(with(Refused(theirs), Unreachable, 400)), "rejected b'theirs'", "U",
		},

		{
			"never sent", func() *write.Request { return loaded(update("A")) },
			script(with(Answer{Err: ErrDropped}, Unreachable)), "failed", "U",
		},
		{
			"denied", func() *write.Request { return loaded(update("A")) }, script(Failed("AccessDeniedException")),
			"failed", "U",
		},
		{
			"denied after a lost answer", func() *write.Request { return loaded(update("A")) },
			script(with(Failed("AccessDeniedException"), Lost, 400), Stored(own)), "written", "UG",
		},
		{
			"the read fails as well", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Failed("AccessDeniedException")), "unknown", "UG",
		},
		{
			"lost again and again", func() *write.Request { return loaded(update("A")) },
			script(Dropped(), Stored(before), Dropped(), Stored(before), Dropped(), Stored(before), Dropped()),
			"unknown", "UGUGUGU",
		},

		{
			"in a transaction's way", func() *write.Request { return loaded(update("A")) },
			script(Collided(), Collided(), OK()), "written", "UUU",
		},
		{
			"in a transaction's way for long", func() *write.Request { return loaded(update("A")) },
			repeat(Collided(), 13), "failed", strings.Repeat("U", 13),
		},
		{
			"an increment in a transaction's way", func() *write.Request { return increment(update("A")) },
			script(Collided(), OK()), "written", "UU",
		},

		{"throttled", func() *write.Request { return loaded(update("A")) }, script(throttled), "failed", "U"},
		// the SDK has tried again
		{"a patch throttled", func() *write.Request { return blind(update("A")) }, script(throttled), "failed", "U"},
		{
			"an increment throttled for long", func() *write.Request { return increment(update("A")) },
			repeat(throttled, 13), "failed", strings.Repeat("U", 13),
		},
		{
			"an increment throttled", func() *write.Request { return increment(update("A")) }, script(throttled, OK()),
			"written", "UU",
		},
		{
			"a patch's answer lost, and written", func() *write.Request { return blind(update("A")) },
			script(Dropped(), Stored(own)), "written", "UG",
		},
		{
			"a patch's answer lost, and another's", func() *write.Request { return blind(update("A")) },
			script(Dropped(), Stored(theirs)), "rejected b'theirs' unsure", "UG",
		},
		{
			"an increment's answer lost is not sent again", func() *write.Request { return increment(update("A")) },
			script(Dropped(), Stored(before)), "rejected b'v1' unsure", "UG",
		},
		{
			"an increment's answer lost, and written", func() *write.Request { return increment(update("A")) },
			script(Dropped(), Stored(own)), "written", "UG",
		},
		{
			"an increment's answer lost, and nothing there", func() *write.Request { return increment(update("A")) },
			script(Failed("InternalServerError"), Stored(nil)), "rejected nothing unsure", "UG",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, r := &Client{Answers: c.answers}, c.r()
			var tally write.Tally
			o := sender(client).One(context.Background(), r, &tally)
			if got := describe(o); got != c.want {
				t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, o.Err)
			}
			if got := initials(client); got != c.calls || client.Left() > 0 {
				t.Errorf("%s: sent %s, want %s, %d answers left", c.name, got, c.calls, client.Left())
			}
			if tally.Requests != len(c.calls) || o.OK() != (len(tally.Items) == 1) || len(o.Requests) != 1 ||
				o.Requests[0] != r {
				t.Errorf("%s: %d requests counted, %d items, outcome of %v", c.name, tally.Requests, len(tally.Items),
					o.Requests)
			}
			if (o.Err == nil) != o.OK() {
				t.Errorf("%s: %s with the error %v", c.name, states[o.State], o.Err)
			}
		})
	}
}

// initials are the first letters of a client's calls.
func initials(c *Client) string {
	text := ""
	for _, name := range c.Names() {
		text += name[:1]
	}
	return text
}

// A client that cannot be watched is assumed to repeat requests by itself. Its answer is then no proof
// that an earlier attempt was not applied. An outcome that depends only on this assumption is reported
// as assumed.
func TestUnwatchedClient(t *testing.T) {
	alone := func(r *write.Request) *write.Step { return &write.Step{Requests: requests{r}, How: write.Each} }
	inOne := func(r *write.Request) *write.Step {
		return &write.Step{Requests: requests{r}, How: write.InTransaction}
	}
	canceled := func(stored item.Attributes) Answer { return Canceled(Because("ConditionalCheckFailed", stored)) }
	for _, c := range []struct {
		name    string
		st      *write.Step
		answers []Answer
		want    string
	}{
		{
			"refused by another's", alone(loaded(update("A"))), script(Refused(theirs)),
			"rejected b'theirs' unsure assumed",
		},
		{"refused by an own", alone(loaded(update("A"))), script(Refused(own)), "written"},
		{"a delete refused, and nothing there", alone(loaded(remove("A"))), script(Refused(nil)), "written"},
		{"denied", alone(loaded(update("A"))), script(Failed("AccessDeniedException")), "failed"},
		{
			"a token that expired, perhaps after an attempt", alone(loaded(update("A"))),
			script(Failed("ExpiredTokenException"), Stored(own)), "written",
		},
		{
			"an increment throttled", alone(increment(update("A"))),
			script(Answer{Err: &types.ThrottlingException{}}, Stored(before)), "rejected b'v1' unsure assumed",
		},
		{
			"an increment in a transaction's way", alone(increment(update("A"))), script(Collided(), Stored(before)),
			"rejected b'v1' unsure assumed",
		},
		{"dropped", alone(loaded(update("A"))), script(Dropped(), Stored(before), OK()), "written"},
		{
			"dropped, and then refused by another's", alone(loaded(update("A"))),
			script(Dropped(), Stored(before), Refused(theirs)), "rejected b'theirs' unsure",
		},
		{
			"a transaction refused by another's", inOne(loaded(update("A"))), script(canceled(theirs)),
			"rejected b'theirs' unsure assumed",
		},
		{"a transaction refused by an own", inOne(loaded(update("A"))), script(canceled(own)), "written"},
		{
			"a transaction dropped, and then refused by another's", inOne(loaded(update("A"))),
			script(Dropped(), canceled(theirs)), "rejected b'theirs' unsure",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &Client{Answers: c.answers, Unwatched: true}
			if got := describe(sender(client).Send(context.Background(), c.st, &write.Tally{})); got != c.want ||
				client.Left() > 0 {
				t.Errorf("%s: %s, want %s, %d answers left", c.name, got, c.want, client.Left())
			}
		})
	}
}

// A request that must not be sent twice is sent once, without the SDK's retries. After a lost answer
// its outcome is unknown, and no read tries to find it out. Only a request that was refused for a
// temporary reason is sent again. The result reports whether the client accepted the option.
func TestOnce(t *testing.T) {
	throttled := Failed("ThrottlingException")
	for _, c := range []struct {
		name      string
		answers   []Answer
		unwatched bool
		want      string
		calls     string
	}{
		{"written", script(OK()), false, "written", "P"},
		{"refused", script(Refused(theirs)), false, "rejected b'theirs'", "P"},
		{"the answer lost", script(Dropped()), false, "unknown", "P"},
		{"an error after the effect", script(Failed("InternalServerError")), false, "unknown", "P"},
		{"never sent", script(with(Answer{Err: ErrDropped}, Unreachable)), false, "failed", "P"},
		{"denied", script(Failed("AccessDeniedException")), false, "failed", "P"},
		{"throttled, and in a transaction's way", script(throttled, Collided(), OK()), false, "written", "PPP"},
		{"throttled for long", repeat(throttled, 13), false, "failed", strings.Repeat("P", 13)},
		{"throttled, and then the answer lost", script(throttled, Dropped()), false, "unknown", "PP"},
		{"sent by a client that cannot be watched", script(OK()), true, "written", "P"},
		{"its answer lost by one", script(Dropped()), true, "unknown", "P"},
		{
			"throttled at one, which may have sent it before", script(Answer{Err: &types.ThrottlingException{}}), true,
			"unknown", "P",
		},
		{"refused at one by its own write", script(Refused(own)), true, "written", "P"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, r := &Client{Answers: c.answers, Unwatched: c.unwatched}, prepared(put("A"))
			var tally write.Tally
			o, watched := sender(client).Once(context.Background(), r, &tally)
			if got := describe(o); got != c.want || watched == c.unwatched {
				t.Errorf("%s: %s, want %s, watched %v (%v)", c.name, got, c.want, watched, o.Err)
			}
			if got := initials(client); got != c.calls || client.Left() > 0 || tally.Requests != len(c.calls) ||
				o.OK() != (len(tally.Items) == 1) {
				t.Errorf("%s: sent %s, want %s, counted %d with %d items", c.name, got, c.calls, tally.Requests,
					len(tally.Items))
			}
			for _, call := range client.Calls() {
				if call.Once == c.unwatched {
					t.Errorf("%s: the SDK may send it again: %v", c.name, !call.Once)
				}
			}
		})
	}
}

// A context that ends between the tries of a request that is sent once leaves it failed: it
// was refused.
func TestOnceContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		collided := Collided()
		collided.Do = func(Call) { cancel() }
		client := &Client{Answers: script(collided)}
		o, _ := sender(client).Once(ctx, prepared(put("A")), &write.Tally{})
		if describe(o) != "failed" || !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%s: %v", describe(o), o.Err)
		}
	})
}

// An increment is a request that the SDK may not send again by itself; others are its to
// retry.
func TestIncrementsAreSentOnce(t *testing.T) {
	for _, c := range []struct {
		r    *write.Request
		once bool
	}{
		{increment(update("A")), true},
		{blind(update("A")), false},
		{prepared(put("A")), false},
		{loaded(remove("A")), false},
	} {
		client := &Client{Answers: script(OK())}
		sender(client).One(context.Background(), c.r, &write.Tally{})
		if got := client.Calls()[0].Once; got != c.once {
			t.Errorf("%s: once is %v", c.r.Kind, got)
		}
	}
}

// The read after a lost answer is strongly consistent, and of the item itself.
func TestReadsStrongly(t *testing.T) {
	client := &Client{Answers: script(Dropped(), Stored(own))}
	sender(client).One(context.Background(), loaded(update("A")), &write.Tally{})
	in := client.Calls()[1].Input.(*dynamodb.GetItemInput)
	if !aws.ToBool(in.ConsistentRead) || !attr.SameItem(in.Key, Item("p", "A", nil)) || *in.TableName != "things" {
		t.Errorf("read: %+v", in)
	}
}

// Sent again, a write carries the version that it had, by which its first copy is known.
func TestRetriedWithItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &Client{Answers: script(Dropped(), Stored(before), OK())}
		r := loaded(update("A"))
		sender(client).One(context.Background(), r, &write.Tally{})
		calls := client.Calls()
		first, second := calls[0].Input, calls[2].Input
		if Updates(first) != "SET _v = b'mine'" || Updates(second) != Updates(first) ||
			Condition(second) != Condition(first) {
			t.Errorf("first %s if %s, then %s if %s", Updates(first), Condition(first), Updates(second),
				Condition(second))
		}
	})
}

// The end of a context, before or between attempts, ends the sending. A request that may have been
// applied is then unsure, and a refused one is refused.
func TestContextEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []Answer
		want    string
	}{
		{"before", nil, "failed"},
		{"while an answer is on its way", script(Dropped()), "unknown"},
		{"while a transaction is in the way", script(Collided()), "failed"},
		{
			"when the SDK has lost an answer, and a transaction is in the way", script(with(Collided(), Lost, 400)),
			"unknown",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			client := &Client{Answers: c.answers}
			if len(c.answers) == 0 {
				cancel()
			} else {
				client.Answers[0].Do = func(Call) { cancel() }
			}
			o := sender(client).One(ctx, loaded(update("A")), &write.Tally{})
			if got := describe(o); got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, o.Err)
			}
			if len(client.Names()) != len(c.answers) {
				t.Errorf("%s: sent %v", c.name, client.Names())
			}
		})
	}
}

// An error of DynamoDB names the item, the request, and the remedy.
func TestErrorsNameTheItem(t *testing.T) {
	client := &Client{Answers: script(Failed("AccessDeniedException"))}
	o := sender(client).One(context.Background(), loaded(update("A")), &write.Tally{})
	if got := o.Err.Error(); !strings.HasPrefix(got, `Thing.A: update p A: access to the table "things" is denied: `) {
		t.Error(got)
	}
	r := loaded(update("A"))
	client = &Client{Answers: script(Failed("AccessDeniedException"))}
	if _, err := sender(client).Stored(context.Background(), r, &write.Tally{}); err == nil ||
		!strings.HasPrefix(err.Error(), `Thing: access to the table "things" is denied: `) {
		t.Error(err)
	}
}

// Cancellation reasons show which items failed. The outcome has those items as they are, an empty one
// for an item that does not exist, and nil for items whose conditions held.
func TestTransactions(t *testing.T) {
	step := func() *write.Step {
		return &write.Step{
			Requests: requests{loaded(update("A")), prepared(put("B")), loaded(check("C"))},
			How:      write.InTransaction,
		}
	}
	fine := Because("None", nil)
	failed := func(stored item.Attributes) types.CancellationReason {
		return Because("ConditionalCheckFailed", stored)
	}
	conflict := Because("TransactionConflict", nil)
	for _, c := range []struct {
		name    string
		answers []Answer
		want    string
		calls   int
	}{
		{"written", script(OK()), "written", 1},
		{"one refused", script(Canceled(fine, failed(theirs), fine)), "rejected - b'theirs' -", 1},
		{
			"all refused", script(Canceled(failed(nil), failed(theirs), failed(theirs))),
			"rejected nothing b'theirs' b'theirs'", 1,
		},
		{"a check refused", script(Canceled(fine, fine, failed(theirs))), "rejected - - b'theirs'", 1},
		{"refused by its own write", script(Canceled(failed(own), failed(own), fine)), "written", 1},
		{"in another's way", script(Canceled(fine, conflict, fine), OK()), "written", 2},
		{"throttled", script(Canceled(Because("ThrottlingError", nil), fine, fine), OK()), "written", 2},
		{
			"without throughput", script(Canceled(fine, fine, Because("ProvisionedThroughputExceeded", nil)), OK()),
			"written", 2,
		},
		{"in another's way for long", repeat(Canceled(fine, conflict, fine), 12), "failed", 12},
		{
			"in another's way, and refused", script(Canceled(failed(theirs), conflict, fine)), "rejected b'theirs' - -",
			1,
		},
		{"not valid", script(Canceled(fine, Because("ValidationError", nil), fine)), "failed", 1},
		{"denied", script(Failed("AccessDeniedException")), "failed", 1},
		{"the answer lost", script(Dropped(), OK()), "written", 2},
		{"lost again and again", repeat(Dropped(), 3), "unknown", 3},
		{
			"the answer lost, and its first copy at work",
			script(Dropped(), Answer{Err: &types.TransactionInProgressException{}}, OK()), "written", 3,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, st := &Client{Answers: c.answers}, step()
			var tally write.Tally
			o := sender(client).Send(context.Background(), st, &tally)
			if got := describe(o); got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, o.Err)
			}
			tokens := map[string]bool{}
			for _, call := range client.Calls() {
				tokens[*call.Input.(*dynamodb.TransactWriteItemsInput).ClientRequestToken] = true
			}
			if len(client.Calls()) != c.calls || len(tokens) != 1 || tally.Requests != c.calls {
				t.Errorf("%s: %d calls with %d client tokens, %d counted", c.name, len(client.Calls()), len(tokens),
					tally.Requests)
			}
			if o.OK() != (len(tally.Items) == 3) {
				t.Errorf("%s: %d items counted", c.name, len(tally.Items))
			}
		})
	}
}

// After an attempt without an answer, a later refusal of a transaction is not final. The first copy may
// still be applied, whether or not DynamoDB remembers the client token.
func TestRefusedAfterALostAnswer(t *testing.T) {
	for _, pause := range []time.Duration{0, 11 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			lost := Dropped()
			lost.Do = func(Call) { time.Sleep(pause) }
			client := &Client{Answers: script(lost, Canceled(Because("ConditionalCheckFailed", theirs)))}
			st := &write.Step{Requests: requests{loaded(update("A"))}, How: write.InTransaction}
			if got := describe(sender(client).Send(context.Background(), st,
				&write.Tally{})); got != "rejected b'theirs' unsure" {
				t.Errorf("after %v: %s", pause, got)
			}
		})
	}
}

// A transaction's error names the items that are to blame, and all of their tables.
func TestTransactionErrors(t *testing.T) {
	other := loaded(update("B"))
	other.Table = &item.Table{Name: "others", Hash: "PK", Range: "SK"}
	st := &write.Step{Requests: requests{loaded(update("A")), other}, How: write.InTransaction}
	client := &Client{Answers: script(Canceled(Because("None", nil), Because("ValidationError", nil)))}
	o := sender(client).Send(context.Background(), st, &write.Tally{})
	if got := o.Err.Error(); !strings.HasPrefix(got, `Thing.B: update p B: the table "others"`) {
		t.Error(got)
	}
	client = &Client{Answers: script(Failed("AccessDeniedException"))}
	o = sender(client).Send(context.Background(), st, &write.Tally{})
	if got := o.Err.Error(); !strings.HasPrefix(got, `Thing.A: update p A and 1 more in one transaction: access to `+
		`one of the tables ["things" "others"] is denied`) {
		t.Error(got)
	}
	var api *types.TransactionCanceledException
	if errors.As(o.Err, &api) {
		t.Error("the second error is the first")
	}
}

// A context that ends while a transaction is under way leaves it unknown, with the
// context's error in the cause.
func TestTransactionContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		lost := Dropped()
		lost.Do = func(Call) { cancel() }
		client := &Client{Answers: script(lost)}
		st := &write.Step{Requests: requests{loaded(update("A")), loaded(update("B"))}, How: write.InTransaction}
		o := sender(client).Send(ctx, st, &write.Tally{})
		if describe(o) != "unknown" || !errors.Is(o.Err, context.Canceled) || !errors.Is(o.Err, ErrDropped) {
			t.Errorf("%s: %v", describe(o), o.Err)
		}
	})
}

// The capacity of an operation is counted as it was sent. Refused writes are counted as ranges, and
// reads after lost answers by the items that they read. The units that DynamoDB reports are counted
// separately.
func TestTally(t *testing.T) {
	consumed := func(units float64) *types.ConsumedCapacity { return &types.ConsumedCapacity{CapacityUnits: &units} }
	big := func(kind write.Kind) *write.Request { return request(kind, "A", 3000) }
	stored := Item("p", "A", item.Attributes{"_v": B("theirs"), "text": S(strings.Repeat("x", 1500))})
	larger := Item("p", "A", item.Attributes{"_v": B("theirs"), "text": S(strings.Repeat("x", 300_500))})
	units := func(n float64) map[string]types.Capacity {
		return map[string]types.Capacity{"byName": {CapacityUnits: &n}}
	}
	indexed := consumed(9)
	indexed.TableName, indexed.GlobalSecondaryIndexes = aws.String("things"), units(4)
	indexed.LocalSecondaryIndexes = map[string]types.Capacity{
		"byTime": {CapacityUnits: aws.Float64(2)},
		"byAge":  {CapacityUnits: aws.Float64(0)},
	}
	for _, c := range []struct {
		name    string
		step    *write.Step
		answers []Answer
		want    write.Tally
	}{
		{
			"written", &write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Answer{Out: &dynamodb.UpdateItemOutput{ConsumedCapacity: consumed(3)}}),
			write.Tally{Requests: 1, WCU: cost.Exactly(3), ConsumedWCU: 3},
		},
		{
			"refused: what is stored is charged, at most what would have been written",
			&write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Refused(stored)),
			write.Tally{Requests: 1, Refused: cost.Units{Min: 2, Expected: 2, Max: 3}},
		},
		{
			"refused by a larger item", &write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Refused(larger)),
			write.Tally{Requests: 1, Refused: cost.Exactly(294)},
		},
		{
			"refused by none", &write.Step{Requests: requests{loaded(big(write.Delete))}, How: write.Each},
			script(Refused(nil), Stored(nil)),
			write.Tally{Requests: 1, Refused: cost.Exactly(1)},
		},
		{
			"lost, and written", &write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Dropped(), Answer{Out: &dynamodb.GetItemOutput{Item: own, ConsumedCapacity: consumed(1)}}),
			write.Tally{Requests: 2, WCU: cost.Exactly(3), RCU: cost.Exactly(1), ConsumedRCU: 1},
		},
		{
			"the read fails", &write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Dropped(), Failed("AccessDeniedException")),
			write.Tally{Requests: 2},
		},
		{
			"a transaction", &write.Step{
				Requests: requests{loaded(big(write.Update)), loaded(update("B"))},
				How:      write.InTransaction,
			},
			script(Answer{Out: &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: []types.ConsumedCapacity{
				{CapacityUnits: aws.Float64(8), WriteCapacityUnits: aws.Float64(8)},
			}}}),
			write.Tally{Requests: 1, WCU: cost.Exactly(8), ConsumedWCU: 8},
		},
		{
			"a transaction that was applied before",
			&write.Step{Requests: requests{loaded(big(write.Update)), loaded(update("B"))}, How: write.InTransaction},
			script(Dropped(), Answer{Out: &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: []types.ConsumedCapacity{
				{
					CapacityUnits: aws.Float64(4), ReadCapacityUnits: aws.Float64(4),
					GlobalSecondaryIndexes: map[string]types.Capacity{"byName": {
						CapacityUnits:     aws.Float64(1),
						ReadCapacityUnits: aws.Float64(1),
					}},
				},
			}}}),
			write.Tally{Requests: 2, WCU: cost.Exactly(8), ConsumedRCU: 4},
		},
		{
			"a transaction refused", &write.Step{
				Requests: requests{loaded(big(write.Update)), loaded(update("B"))},
				How:      write.InTransaction,
			},
			script(Canceled(Because("ConditionalCheckFailed", stored), Because("None", nil))),
			write.Tally{Requests: 1, Refused: cost.Units{Min: 3, Expected: 6, Max: 8}},
		},
		{
			"a transaction refused by a larger item",
			&write.Step{Requests: requests{loaded(big(write.Update)), loaded(update("B"))}, How: write.InTransaction},
			script(Canceled(Because("ConditionalCheckFailed", larger), Because("None", nil))),
			write.Tally{Requests: 1, Refused: cost.Units{Min: 295, Expected: 590, Max: 590}},
		},
		{
			"indexes beside the table", &write.Step{Requests: requests{loaded(big(write.Update))}, How: write.Each},
			script(Answer{Out: &dynamodb.UpdateItemOutput{ConsumedCapacity: indexed}}),
			write.Tally{
				Requests: 1, WCU: cost.Exactly(3), ConsumedWCU: 9,
				Indexes: map[string]float64{"things/byName": 4, "things/byTime": 2},
			},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got write.Tally
			o := sender(&Client{Answers: c.answers}).Send(context.Background(), c.step, &got)
			if got.Requests != c.want.Requests || got.WCU != c.want.WCU || got.RCU != c.want.RCU ||
				got.Refused != c.want.Refused || !maps.Equal(got.Indexes, c.want.Indexes) ||
				got.ConsumedWCU != c.want.ConsumedWCU || got.ConsumedRCU != c.want.ConsumedRCU {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
			n := 0
			if o.OK() {
				n = len(c.step.Requests)
			}
			if len(got.Items) != n {
				t.Errorf("%s: %d items, want %d", c.name, len(got.Items), n)
			}
		})
	}
}

// The tallies of requests that were sent at once add up, their items in order.
func TestTallyAddAll(t *testing.T) {
	var total write.Tally
	total.AddRead(2, cost.Exactly(1.5), 2)
	parts := make([]write.Tally, 3)
	for i := range parts {
		client := &Client{Answers: script(OK())}
		sender(client).One(context.Background(), prepared(request(write.Put, string(rune('A'+i)), 100)), &parts[i])
	}
	total.AddAll(parts)
	var names []string
	for _, d := range total.Items {
		names = append(names, d.Field+" "+d.WCU.String())
	}
	if got := strings.Join(names, ", "); got != "A 1, B 1, C 1" || total.Requests != 5 ||
		total.WCU != cost.Exactly(3) || total.RCU != cost.Exactly(1.5) || total.ConsumedRCU != 2 {
		t.Errorf("%s: %+v", got, total)
	}
}

// A request needs no model: an item of a table of its own is arranged, sent and recognized
// like any other, on which migrations and large values depend.
func TestPlainItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := &item.Table{Name: "blobs", Hash: "id"}
		part := func(id string) *write.Request {
			r := &write.Request{
				Kind: write.Put, Place: item.Place{Table: blobs, PK: Text(id)}, Label: "Blob", Field: "part",
				Reserved: item.Reserved{Version: "etag"}, NewSize: 20, New: true, Expect: write.Expect{Absent: true},
			}
			r.Put = r.Key()
			r.Put["data"] = B("xyz")
			return r
		}
		plan, err := write.Arrange(requests{part("1"), part("2")}, nil, choice{Independent: true})
		if err != nil {
			t.Fatal(err)
		}
		client := &Client{Answers: script(OK(), Dropped(), Stored(nil), OK())}
		var tally write.Tally
		for i := range plan.Steps {
			if o := sender(client).Send(context.Background(), &plan.Steps[i], &tally); !o.OK() {
				t.Fatal(o.Err)
			}
		}
		if got := strings.Join(client.Names(), " "); got != "PutItem PutItem GetItem PutItem" {
			t.Errorf("sent: %s", got)
		}
		in := client.Calls()[0].Input.(*dynamodb.PutItemInput)
		if got := Condition(in); got != "attribute_not_exists(id)" || in.Item["etag"] == nil ||
			*in.TableName != "blobs" {
			t.Errorf("sent %+v if %s", in, got)
		}
		if len(tally.Items) != 2 || tally.WCU != cost.Exactly(2) {
			t.Errorf("tally: %+v", tally)
		}
	})
}

// What a context kept from being sent is not counted as a request.
func TestKeptIsNotCounted(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	client := &Client{Answers: script(OK(), OK(), OK())}
	var tally write.Tally
	s := sender(client)
	one := s.One(done, loaded(update("A")), &tally)
	once, _ := s.Once(done, loaded(update("A")), &tally)
	all := s.Send(done, &write.Step{
		Requests: requests{loaded(update("A")), prepared(put("B"))},
		How:      write.InTransaction,
	},
		&tally)
	for _, o := range []write.Outcome{one, once, all} {
		if o.State != write.Failed || !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%s: %v", describe(o), o.Err)
		}
	}
	if tally.Requests != len(client.Calls()) {
		t.Errorf("%d requests counted, %d sent", tally.Requests, len(client.Calls()))
	}
}
