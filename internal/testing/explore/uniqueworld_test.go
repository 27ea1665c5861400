package explore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	itemmodel "github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/mapper"
)

// The world of unique values: the root items and the guards after each request. The rules are those of Unique.tla, and
// the keys of guards are written here by hand.

// owned are the unique values of an entity: "" for none.
type owned struct{ email, tenant, nick string }

// value returns a unique value, by its number.
func (o owned) value(u int) string {
	switch {
	case u == 0:
		return o.email
	case o.tenant == "" || o.nick == "":
		return ""
	}
	return o.tenant + "#" + o.nick
}

// guardNames are the model and the value in the keys of guards, and fieldNames those in errors.
var (
	guardNames = []string{"person#Email", "person#Tenant,Nick"}
	fieldNames = []string{"Email", "Tenant,Nick"}
)

func guardKey(u int, value string) string { return "~unique#" + guardNames[u] + "#" + value }

// rootState is a stored root item.
type rootState struct {
	owned
	place, mark, incarnation, version string
	// live reports that it is live, also if it has expired. late reports that it has expired so lately that it counts.
	live, expired, late bool
}

// is reports whether readers find it.
func (r rootState) is() bool { return r.live && !r.expired }

// moment is the world after a request.
type moment struct {
	roots map[string]rootState
	// hidden are root items that had expired when the entity was inserted on another shard.
	hidden []rootState
	// guards have the owner and its incarnation.
	guards map[string]string
}

// owner returns the entity that has a value, "" for none.
func (m moment) owner(u int, value string) string {
	for id, r := range m.roots {
		if r.is() && r.value(u) == value {
			return id
		}
	}
	return ""
}

// layout says where the entities are.
type layout int

const (
	inPartitions layout = iota // each in a partition of its own
	separate                   // with the guards in another table
	sharded
	resharding
)

// house is the one of all lodgers.
const house = "h"

func (x *people) onShards() bool { return x.layout == sharded || x.layout == resharding }

// places are the keys that the root item of an entity may have.
func (x *people) places(id string) (all []map[string]types.AttributeValue) {
	if !x.onShards() {
		return []map[string]types.AttributeValue{keyOfItem("ID#"+id, "HEAD")}
	}
	for n := range 3 {
		all = append(all, keyOfItem(fmt.Sprint("HOUSE#", house, "#", n+1), "ID#"+id+"#HEAD"))
	}
	return all
}

func keyOfItem(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk},
	}
}

// idOf is the entity with a root item.
func idOf(pk, sk string) string {
	if sk == "HEAD" {
		return strings.TrimPrefix(pk, "ID#")
	}
	return strings.TrimSuffix(strings.TrimPrefix(sk, "ID#"), "#HEAD")
}

// holder is owner that has perhaps expired lately.
func (m moment) holder(u int, value string) string {
	for id, r := range m.roots {
		if (r.is() || r.late) && r.value(u) == value {
			return id
		}
	}
	return ""
}

// people is one run.
type people struct {
	lab  *lab
	run  *explore.Run
	name string
	ids  []string
	// kinds are the calls of this run. Staged ones are drawn of 3, and of 2 for inserts.
	kinds  []string
	staged int
	layout layout
	margin time.Duration
	// narrow reports that all entities want one value.
	narrow bool
	// emails, tenants and nicks are all that entities have, and now is the time of all clocks.
	emails, tenants, nicks []string
	now                    time.Time
	model                  *itemmodel.Model
	moments                []moment
	// born has the moments in which root items were live first, and replaced those that had expired when the entity
	// was inserted on another shard.
	born     map[string]int
	replaced map[string]bool
	ops      []*personOp
	// stale reports that eventually consistent reads may be as old as an earlier one.
	stale   bool
	answers map[string][][]byte
	turn    int
	// wrong is the first fault, and trace what went before.
	wrong error
	trace []string
}

// personOp is a call.
type personOp struct {
	what, mark string
	// ids are the entities that it may write. lookup says that it may write the owner of a value too.
	ids    []string
	lookup *sought
	// wants reports whether it needs a value of an entity that is in its way.
	wants func(u int, r rootState) bool
	// rivals reports that two of its parts may want one value.
	rivals bool
	// parts is how many parts an insert has.
	parts int
	// done reports whether a moment has its effect, nil if no moment needs to.
	done     func(moment) bool
	from, to int
	err      error
	// certain reports that no request or answer was lost, and crashed that its actor stopped.
	certain, crashed bool
}

// sought is a value that a lookup seeks.
type sought struct {
	u     int
	value string
}

type opKey struct{}

// RoundTrip sends a request to the engine, and looks at the world after each write.
func (x *people) RoundTrip(r *http.Request) (*http.Response, error) {
	switch _, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); call {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query":
		return x.read(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	o, _ := r.Context().Value(opKey{}).(*personOp)
	x.look(o)
	return resp, err
}

// read answers a read. One that is eventually consistent may have an earlier answer.
func (x *people) read(r *http.Request) (*http.Response, error) {
	if !x.stale {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(body), `"ConsistentRead":true`) {
		return resp, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	request := r.Header.Get("X-Amz-Target") + string(body)
	x.answers[request] = append(x.answers[request], answer)
	x.turn++
	all := x.answers[request]
	answer = all[(x.turn*7+len(all)*3)%len(all)]
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(string(answer))), int64(len(answer))
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Set("Content-Length", fmt.Sprint(len(answer)))
	return resp, err
}

// fault records the first fault.
func (x *people) fault(format string, args ...any) {
	if x.wrong == nil {
		x.wrong = fmt.Errorf(format, args...)
		x.trace = slices.Clone(x.run.Trace)
	}
}

// look reads the world after a request of a call, nil for none, and checks the rules of each moment.
func (x *people) look(o *personOp) {
	m := x.stored()
	if len(x.moments) > 0 {
		x.explain(o, x.moments[len(x.moments)-1], m)
	}
	x.moments = append(x.moments, m)
	for u := range guardNames {
		owners := map[string]string{}
		for id, r := range m.roots {
			value := r.value(u)
			if !r.live || value == "" {
				continue
			}
			if other := owners[value]; other != "" {
				x.fault("%s has two owners: %s and %s", value, other, id)
			}
			owners[value] = id
			if want, got := r.place+" "+r.incarnation, m.guards[guardKey(u, value)]; got != want {
				x.fault("the guard of %s of %s names %q, want %q", value, id, got, want)
			}
		}
		for _, r := range m.hidden {
			if v := r.value(u); v != "" && r.live && m.guards[guardKey(u, v)] != r.place+" "+r.incarnation {
				x.fault("an expired root item has lost the guard of %s: %+v", v, r)
			}
		}
	}
}

// explain finds out whether a call may change the root items that have changed.
func (x *people) explain(o *personOp, before, after moment) {
	for _, id := range x.ids {
		was, is := before.roots[id], after.roots[id]
		was.expired, is.expired, was.late, is.late = false, false, false, false
		if o != nil && o.parts > 0 && !was.live && after.roots[id].is() {
			x.whole(id, o)
		}
		over := before.roots[id].expired && (o == nil || !before.roots[id].late)
		if was == is || !was.live && !is.live || over && !is.live {
			continue
		}
		switch {
		case o == nil:
			x.fault("%s changes without a call: %+v, %+v", id, was, is)
		case slices.Contains(o.ids, id):
		case o.lookup == nil || !before.roots[id].is() || before.roots[id].value(o.lookup.u) != o.lookup.value:
			x.fault("%s writes %s: %+v, %+v", o.what, id, was, is)
		}
	}
}

// whole checks that an entity that an insert has made has its parts.
func (x *people) whole(id string, o *personOp) {
	pk, parts := "ID#"+id, "M#"
	if x.onShards() {
		pk, _, _ = strings.Cut(x.stored().roots[id].place, " ")
		parts = "ID#" + id + "#M#"
	}
	out, err := x.lab.base().Query(context.Background(), &dynamodb.QueryInput{
		TableName: aws.String(x.lab.table["docs"]), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("PK = :p AND begins_with(SK, :m)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: pk}, ":m": &types.AttributeValueMemberS{Value: parts},
		},
	})
	if err != nil {
		x.fault("the parts cannot be read: %v", err)
		return
	}
	n := 0
	for _, it := range out.Items {
		if textOf(it["Value"]) == o.mark {
			n++
		}
	}
	if n != o.parts {
		x.fault("%s: the entity has %d of %d parts", o.what, n, o.parts)
	}
}

// stored reads the world.
func (x *people) stored() moment {
	var keys []map[string]types.AttributeValue
	for _, id := range x.ids {
		keys = append(keys, x.places(id)...)
	}
	var guards []map[string]types.AttributeValue
	for _, s := range x.all() {
		guards = append(guards, keyOfItem(guardKey(s.u, s.value), "guard"))
	}
	docs, own := x.lab.table["docs"], x.lab.table["guards"]
	requests := map[string]types.KeysAndAttributes{docs: {
		Keys:           slices.Concat(keys, guards),
		ConsistentRead: aws.Bool(true),
	}}
	if x.layout == separate {
		for _, k := range guards {
			delete(k, "SK")
		}
		requests[docs] = types.KeysAndAttributes{Keys: keys, ConsistentRead: aws.Bool(true)}
		requests[own] = types.KeysAndAttributes{Keys: guards, ConsistentRead: aws.Bool(true)}
	}
	m := moment{roots: map[string]rootState{}, guards: map[string]string{}}
	out, err := x.lab.base().BatchGetItem(context.Background(), &dynamodb.BatchGetItemInput{
		RequestItems: requests,
	})
	if err != nil || len(out.UnprocessedKeys) > 0 {
		x.fault("the world cannot be read: %v", err)
		return m
	}
	for _, it := range slices.Concat(out.Responses[docs], out.Responses[own]) {
		h := x.model.Reserved.Header(it)
		if pk := textOf(it["PK"]); strings.HasPrefix(pk, "~") {
			m.guards[pk] = textOf(it["~pk"]) + " " + textOf(it["~sk"]) + " " + textOf(h.Incarnation)
			if h.Version == nil || it["expires"] != nil {
				x.fault("the guard %v", it)
			}
		} else {
			sk := textOf(it["SK"])
			is, id := rootState{
				place: pk + " " + sk,
				owned: owned{textOf(it["Email"]), textOf(it["Tenant"]), textOf(it["Nick"])}, mark: textOf(it["Mark"]),
				incarnation: textOf(h.Incarnation), version: textOf(h.Version),
				live: h.Live(), expired: h.Expired(x.now),
				late: h.Live() && h.Expired(x.now) && !h.Expired(x.now.Add(-x.margin)),
			}, idOf(pk, sk)
			was, two := m.roots[id]
			one := is.place + is.incarnation
			if is.live && x.born[one] == 0 {
				x.born[one] = len(x.moments) + 1
			}
			switch {
			case two && was.is() && is.is():
				x.fault("%s is on two shards: %s, %s", id, was.place, is.place)
			case two && was.live && is.live: // the earlier one had expired when the other one was inserted
				if x.born[one] < x.born[was.place+was.incarnation] {
					was, is = is, was
				}
				x.replaced[was.place+was.incarnation] = true
			case two && was.live:
				is = was
			}
			for _, r := range []rootState{was, is} {
				if x.replaced[r.place+r.incarnation] {
					m.hidden = append(m.hidden, r)
				}
			}
			switch {
			case !x.replaced[is.place+is.incarnation]:
				m.roots[id] = is
			case is.is():
				x.fault("%s was replaced when it had expired, and is restored: %+v", id, is)
			}
		}
	}
	return m
}

// textOf returns a text, or the bytes of a token.
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%x", v.Value)
	}
	return ""
}

// all returns all values.
func (x *people) all() (all []sought) {
	for _, e := range x.emails {
		all = append(all, sought{0, e})
	}
	for _, t := range x.tenants {
		for _, n := range x.nicks {
			all = append(all, sought{1, t + "#" + n})
		}
	}
	return all
}

// some reports whether one of the moments during a call fulfils a condition.
func (x *people) some(o *personOp, is func(moment) bool) bool {
	return slices.ContainsFunc(x.moments[o.from:o.to+1], is)
}

// judge compares the result of a call with the moments during it.
func (x *people) judge(o *personOp) {
	var unknown *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	var taken *mapper.UniqueError
	switch {
	case o.crashed:
	case o.err == nil:
		if o.done != nil && !x.some(o, o.done) {
			x.fault("%s was acknowledged, and never done", o.what)
		}
		return
	case errors.As(o.err, &taken):
		id := idOf(taken.Owner.Partition, taken.Owner.Sort)
		u := slices.Index(fieldNames, taken.Field)
		own := slices.Contains(o.ids, id) || o.rivals && o.lookup != nil && x.some(o, func(m moment) bool {
			return m.owner(o.lookup.u, o.lookup.value) == id
		})
		if u < 0 || o.wants == nil || own && !o.rivals || !own && !x.some(o, func(m moment) bool {
			return (m.roots[id].is() || m.roots[id].late) && o.wants(u, m.roots[id])
		}) {
			x.fault("%s: %v: untrue", o.what, o.err)
		}
	case errors.Is(o.err, mapper.ErrNotFound):
		if o.lookup != nil && !x.some(o, func(m moment) bool { return m.owner(o.lookup.u, o.lookup.value) == "" }) ||
			o.lookup == nil && !x.some(o, o.misses) {
			x.fault("%s: %v: untrue", o.what, o.err)
		}
	case errors.Is(o.err, mapper.ErrExists):
		stored := func(m moment) bool {
			return slices.ContainsFunc(o.ids, func(id string) bool { _, ok := m.roots[id]; return ok })
		}
		if !x.some(o, stored) {
			x.fault("%s: %v: untrue", o.what, o.err)
		}
	case errors.As(o.err, &unknown), errors.As(o.err, &partial):
		if o.certain {
			x.fault("%s: nothing was lost, but the outcome is unknown: %v", o.what, o.err)
		}
		return
	case errors.As(o.err, new(*mapper.ConflictError)):
	case errors.Is(o.err, mapper.ErrUsage) && o.lookup != nil: // its owner is another part of the transaction
	case o.certain:
		x.fault("%s: an unexpected error: %v", o.what, o.err)
	}
	if !o.certain || o.mark == "" {
		return
	}
	for _, m := range x.moments[o.from:] {
		for id, r := range m.roots {
			if r.mark == o.mark && r.live {
				x.fault("%s was refused, but %s has its mark: %v", o.what, id, o.err)
			}
		}
	}
}

// misses reports whether one of the call's entities does not exist.
func (o *personOp) misses(m moment) bool {
	return slices.ContainsFunc(o.ids, func(id string) bool { return !m.roots[id].is() })
}
