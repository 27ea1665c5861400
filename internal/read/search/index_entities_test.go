package search_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// ride is a ledger entry whose indexes hold fields in their keys alone.
type ride struct {
	_       struct{}   `ddb:"table=rides"`
	_       struct{}   `ddb:"index=byDriver,hash=GPK,range=GSK,pk=D#{Driver},sk={Started}#{Leg:04},project='Fare'"`
	_       struct{}   `ddb:"index=keys,hash=HPK,range=HSK,pk=S#{State},sk={Started:unix},project=keys"`
	_       struct{}   `ddb:"index=whole,hash=IPK,range=ISK,pk=V#{Vehicle},sk={Zone}"`
	ID      string     `ddb:"pk=RIDE#{ID}"`
	Driver  string     `ddb:"sk=HEAD"`
	Started time.Time  `ddb:"sk=HEAD"`
	Leg     int        `ddb:"sk=HEAD"`
	Zone    *string    `ddb:"sk=HEAD"`
	Vehicle licence    `ddb:"sk=HEAD"`
	Fare    int        `ddb:"sk=HEAD"`
	State   string     `ddb:"sk=HEAD"`
	Note    string     `ddb:"sk=HEAD"`
	Events  []rideStep `ddb:"sk=EVENT#{At}"`
}

type rideStep struct {
	At   time.Time
	Text string
}

// licence is a number, whose text is in keys.
type licence int

func (l licence) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "N-%d", int(l)), nil }

func (l *licence) UnmarshalText(b []byte) (err error) {
	*(*int)(l), err = strconv.Atoi(strings.TrimPrefix(string(b), "N-"))
	return err
}

func rideOf(id string) ride {
	zone := "north"
	return ride{
		ID: id, Driver: "d9", Started: kit.Monday, Leg: 3, Zone: &zone, Vehicle: 12, Fare: 7, State: "open",
		Note: "n", Events: []rideStep{{kit.Monday, "begun"}},
	}
}

// A query of an index sends one request, whatever the entities have beside the index.
func TestIndexQuerySendsOneRequest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[ride](t, nil)
	for i := range 20 {
		kit.Must(m.Save(ctx, m.New(rideOf(fmt.Sprint(i)))))(t)
	}
	for _, c := range []struct {
		name  string
		index *query.Items[ride]
		want  ride
	}{
		{"byDriver", m.Index("byDriver", "d9"), ride{Driver: "d9", Started: kit.Monday, Leg: 3, Fare: 7}},
		{"keys", m.Index("keys", "open"), ride{State: "open", Started: kit.Monday}},
	} {
		q := query.Of[ride](c.index)
		var r mapper.Receipt
		all := kit.Must(q.Collect(ctx, m, mapper.ReceiptTo(&r)))(t)
		plan := kit.Must(q.Plan(m))(t)
		if len(all) != 20 || r.Predicted().Requests != 1 || !plan.Requests.Contains(1) ||
			!plan.RCU.Contains(r.Consumed.RCU) {
			t.Errorf("%s: %d entities, %v, %+v", c.name, len(all), r.Consumed, plan)
		}
		for _, x := range all {
			if c.want.ID = x.ID; !reflect.DeepEqual(x, c.want) {
				t.Errorf("%s: %+v, want %+v", c.name, x, c.want)
			}
		}
	}
}

// The fields that only keys of an index hold are read from these keys, also those that a projection names.
func TestIndexKeysAreDecoded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[ride](t, nil)
	kit.Must(m.Save(ctx, m.New(rideOf("1"))))(t)
	q := query.Of[ride](m.Index("byDriver", "d9"))
	started := handmade.Time("Started", "", func(x *ride) *time.Time { return &x.Started })
	leg := handmade.Number("Leg", "", func(x *ride) *int { return &x.Leg })
	got := kit.Must(q.Project(started, leg).Collect(ctx, m))(t)
	want := ride{ID: "1", Driver: "d9", Started: kit.Monday, Leg: 3}
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// An entity of a query knows which fields the query has read, and a save writes only these.
func TestIndexEntitiesAreLoadedInPart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[ride](t, nil)
	whole := rideOf("1")
	kit.Must(m.Save(ctx, m.New(whole)))(t)
	one := func(q *query.Query[ride, ride]) *mapper.Entity[ride] {
		t.Helper()
		var found *mapper.Entity[ride]
		for e, err := range m.Entities(ctx, q) {
			if err != nil || found != nil {
				t.Fatal(err, found)
			}
			found = e
		}
		return found
	}
	q := query.Of[ride](m.Index("byDriver", "d9"))
	e := one(q)
	for name, c := range map[string]struct {
		field any
		want  bool
	}{
		"ID": {&e.Value.ID, true}, "Driver": {&e.Value.Driver, true}, "Started": {&e.Value.Started, true},
		"Fare": {&e.Value.Fare, true}, "State": {&e.Value.State, false}, "Note": {&e.Value.Note, false},
		"Zone": {&e.Value.Zone, false}, "Events": {&e.Value.Events, false},
	} {
		if e.Loaded(c.field) != c.want {
			t.Errorf("Loaded(%s) is %v", name, !c.want)
		}
	}
	if r := kit.Must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Error(r)
	}
	e.Value.Fare, e.Value.Driver = 9, "d8"
	plan := kit.Must(m.PlanSave(e))(t)
	r := kit.Must(m.Save(ctx, e))(t)
	if !plan.WCU.Contains(r.Consumed.WCU) || plan.Requests != 1 || r.Predicted().Requests != 1 {
		t.Error(plan, r)
	}
	whole.Fare, whole.Driver = 9, "d8"
	if now := kit.Must(m.Load(ctx, m.Key("1")))(t); !reflect.DeepEqual(now.Value, whole) {
		t.Errorf("%+v, want %+v", now.Value, whole)
	}
	for name, change := range map[string]func(*ride){
		"Note": func(x *ride) { x.Note = "changed" }, "State": func(x *ride) { x.State = "closed" },
		"Events":       func(x *ride) { x.Events = []rideStep{{kit.Monday.Add(1), "y"}} },
		"Vehicle":      func(x *ride) { x.Vehicle = 1 },
		"Note to zero": func(x *ride) { x.Note, x.Fare = "x", 1 },
	} {
		e := one(query.Of[ride](m.Index("byDriver", "d8")))
		change(&e.Value)
		var missing *mapper.NotLoadedError
		if _, err := m.Save(ctx, e); !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := one(query.Of[ride](m.Index("byDriver", "d8")).Fetch())
	full.Value.Note, full.Value.Events[0].Text = "fetched", "changed"
	kit.Must(m.Save(ctx, full))(t)
	stale := one(query.Of[ride](m.Index("whole", "N-12")))
	stale.Value.Note = "again"
	full.Value.Note = "other"
	kit.Must(m.Save(ctx, full))(t)
	var conflict *mapper.ConflictError
	if _, err := m.Save(ctx, stale); !errors.As(err, &conflict) {
		t.Error(err)
	}
}

// A save of an item that was read in part leaves its other attributes, also if all that was read becomes empty.
func TestPartlyReadItemIsNotDeleted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[kit.Desk](t, nil)
	kit.Must(m.Save(ctx, m.New(kit.Desk{ID: "1", Name: "n", Room: "r", Note: "x", Extra: "stays"})))(t)
	for e, err := range m.Entities(ctx, query.Of[kit.Desk](m.Index("byRoom", "r"))) {
		if err != nil || e.Value.Room != "r" || e.Value.Note != "x" || e.Value.Extra != "" {
			t.Fatalf("%+v, %v", e, err)
		}
		e.Value.Room, e.Value.Note = "", ""
		kit.Must(m.Save(ctx, e))(t)
	}
	if now := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t).Value; now != (kit.Desk{
		ID: "1", Name: "n",
		Extra: "stays",
	}) {
		t.Errorf("%+v", now)
	}
}

// cab has an index that holds neither the key of the other index nor, in it, the zone.
type cab struct {
	_      struct{} `ddb:"table=cabs"`
	_      struct{} `ddb:"index=byZone,hash=GPK,pk=Z#{Zone},project='Driver'"`
	_      struct{} `ddb:"index=byDriver,hash=HPK,pk=D#{Driver}"`
	_      struct{} `ddb:"index=byState,hash=IPK,pk=S#{State}#{Plate}"`
	ID     string   `ddb:"pk=CAB#{ID}"`
	Zone   string   `ddb:"sk=HEAD"`
	Driver string   `ddb:"sk=HEAD"`
	State  string   `ddb:"sk=HEAD"`
	Plate  string   `ddb:"sk=HEAD"`
}

// A change of a field that was read changes the keys of all indexes that name it, also of those that were not read. If
// such a key names another field that was not read, the change is refused.
func TestPartlyReadItemChangesAllIndexKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[cab](t, nil)
	state := handmade.String("State", "", func(c *cab) *string { return &c.State })
	drivers := func(of string) int {
		return kit.Must(query.Of[cab](m.Index("byDriver", of)).Count(ctx, m))(t)
	}
	for _, driver := range []string{"", "e"} {
		kit.Must(m.Save(ctx, m.New(cab{ID: "1", Zone: "z", Driver: "d", State: "s", Plate: "p"})))(t)
		for e, err := range m.Entities(ctx, query.Of[cab](m.Index("byZone", "z"))) {
			if err != nil {
				t.Fatal(err)
			}
			e.Value.Driver = driver
			kit.Must(m.Save(ctx, e))(t)
		}
		if drivers("d") != 0 || driver != "" && drivers(driver) != 1 {
			t.Errorf("%q: %d by the driver before", driver, drivers("d"))
		}
		kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
	}
	kit.Must(m.Save(ctx, m.New(cab{ID: "1", Zone: "z", Driver: "d", State: "s", Plate: "p"})))(t)
	for _, to := range []string{"", "t"} {
		for e, err := range m.Entities(ctx, query.Of[cab](m.Index("byDriver", "d")).Project(state)) {
			if err != nil {
				t.Fatal(err)
			}
			e.Value.State = to
			var missing *mapper.NotLoadedError
			if _, err := m.Save(ctx, e); !errors.As(err, &missing) {
				t.Errorf("%q: a key with a field that was not read: %v", to, err)
			}
			e.Value.State = "s"
			if _, err := m.Save(ctx, e, mapper.Reindex()); !errors.As(err, &missing) {
				t.Errorf("Reindex of an item that was read in part: %v", err)
			}
		}
	}
}
