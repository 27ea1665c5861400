package operation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// Random operations of one client on few players with few values, against a model in memory. The whole table is
// compared after each operation.

// resident is a player as the model in memory has it.
type resident struct {
	player
	// life is the number of the insert that made it.
	life int
}

// values returns the unique values, "" for none: by hand, not by the code that is tested.
func (k resident) values() [2]string {
	v := [2]string{strings.ToLower(k.Email)}
	if k.Tenant != "" && k.Nick != "" {
		v[1] = k.Tenant + "#" + k.Nick
	}
	return v
}

// village is the model in memory.
type village struct {
	*rand.Rand
	t      *testing.T
	client *dynamodb.Client
	table  string
	m      *mapper.Mapper[player]
	now    time.Time
	// stored are the players with a live root item, also expired ones. guards have the owner of each value: its ID and
	// its life.
	stored map[string]resident
	guards map[string]string
	// held are players as they were loaded, until they are written otherwise.
	held  map[string]*mapper.Entity[player]
	lives int
	n     int
	log   []string
	exact bool
	count map[string]int
}

func newVillage(t *testing.T, seed uint64) *village {
	v := &village{
		Rand: rand.New(rand.NewPCG(seed, 7)), t: t, client: testengine.Start(t).Client(),
		table: testengine.Table(t, "PK:S", "SK:S"),
		now:   time.Unix(2e9, 0), stored: map[string]resident{}, guards: map[string]string{},
		held: map[string]*mapper.Entity[player]{}, exact: testengine.ReportsTransactions(t), count: map[string]int{},
	}
	v.m = kit.Must(mapper.New[player](v.client, mapper.Table(v.table), mapper.ExpiryMargin(0),
		mapper.AssumeVerified()))(t)
	door.Mapper.Model(v.m).Now = func() time.Time { return v.now }
	return v
}

func one[V any](v *village, all ...V) V { return all[v.IntN(len(all))] }

func (v *village) id() string { return one(v, "1", "2", "3", "4", "5") }

// there returns a player that exists, if it draws one soon.
func (v *village) there() string {
	id := v.id()
	for range 4 {
		if v.live(id) {
			break
		}
		id = v.id()
	}
	return id
}

func (v *village) live(id string) bool {
	k, ok := v.stored[id]
	return ok && !v.expired(k)
}

func (v *village) expired(k resident) bool { return !k.Ends.IsZero() && !k.Ends.After(v.now) }

// owner returns the live player with a value, "" for none.
func (v *village) owner(u int, value string) string {
	for id, k := range v.stored {
		if value != "" && !v.expired(k) && k.values()[u] == value {
			return id
		}
	}
	return ""
}

// draw changes some fields of a player.
func (v *village) draw(k *player) {
	switch v.IntN(5) {
	case 0:
		k.Email = one(v, "", "a", "A", "b", "B", "c", "C")
	case 1:
		k.Tenant = one(v, "", "t", "u")
	case 2:
		k.Nick = one(v, "", "n", "m", "N")
	case 3:
		k.Name = one(v, "", "x", "y")
	case 4:
		k.Email, k.Tenant, k.Nick = one(v, "", "a", "b", "C"), one(v, "t", "u"), one(v, "", "n", "m")
	}
	if v.IntN(8) == 0 {
		k.Ends = one(v, time.Time{}, v.now.Add(30*time.Minute))
	}
	if v.IntN(6) == 0 {
		k.Notes = nil
		for i := range v.IntN(3) {
			k.Notes = append(k.Notes, playerNote{i, one(v, "p", "q")})
		}
	}
}

func (v *village) fresh(id string) player {
	k := player{ID: id}
	for range 3 {
		v.draw(&k)
	}
	return k
}

// act is one part of an operation: it leaves was, nil for none, and makes is, nil for none.
type act struct {
	what    string
	was, is *resident
	// missing reports that the part needs a player that does not exist, and exists that it inserts one that does.
	missing, exists bool
	// key is the key of a delete or an update. lax reports that it may find leftover items of a player that has
	// expired.
	key   string
	lax   bool
	part  mapper.Part
	alone func(ctx context.Context) (*mapper.Receipt, error)
	e     *mapper.Entity[player]
	// update is the function of an UpdatePart, nil for other parts.
	update func()
}

// ids returns the players that the part is about.
func (a *act) ids() (all []string) {
	if a.key != "" {
		all = append(all, a.key)
	}
	for _, k := range []*resident{a.was, a.is} {
		if k != nil && !slices.Contains(all, k.ID) {
			all = append(all, k.ID)
		}
	}
	return all
}

// load returns a player as it is loaded, nil for none.
func (v *village) load(id string) *mapper.Entity[player] {
	if e := v.held[id]; e != nil && v.live(id) {
		delete(v.held, id)
		e.Value = clone(v.stored[id].player)
		return e
	}
	e, err := v.m.Load(context.Background(), v.m.Key(id), mapper.Strong())
	if live := v.live(id); live != (err == nil) || err != nil && !errors.Is(err, mapper.ErrNotFound) {
		v.fault("load %s: %v, want %v", id, err, live)
	}
	return e
}

func clone(k player) player {
	k.Notes = slices.Clone(k.Notes)
	return k
}

func (v *village) born(k player) *resident {
	v.lives++
	return &resident{clone(k), v.lives}
}

func (v *village) insert(id string) *act {
	k := v.fresh(id)
	e := v.m.New(k)
	a := &act{what: "insert", is: v.born(k), exists: v.live(id), part: v.m.SavePart(e), e: e}
	var options []mapper.WriteOption
	if v.IntN(3) == 0 {
		a.what, options = "staged insert", []mapper.WriteOption{mapper.Staged()}
	}
	a.alone = func(ctx context.Context) (*mapper.Receipt, error) { return v.m.Save(ctx, e, options...) }
	return a
}

func (v *village) save(id string) *act {
	e := v.load(id)
	if e == nil {
		return nil
	}
	was := v.stored[id]
	v.draw(&e.Value)
	return &act{
		what: "save", was: &was, is: &resident{clone(e.Value), was.life}, part: v.m.SavePart(e), e: e,
		alone: func(ctx context.Context) (*mapper.Receipt, error) { return v.m.Save(ctx, e) },
	}
}

// update reads and changes a player in UpdateAll, or alone in Update.
func (v *village) update(id string) *act {
	how, n, was := v.sought(id)
	a := &act{what: "update " + how, was: was, missing: was == nil, key: id}
	var is player
	if was != nil {
		is = clone(was.player)
		v.draw(&is)
		a.is = &resident{clone(is), was.life}
	}
	var now player
	a.update = func() { now = clone(is) }
	if a.part = v.m.UpdatePart(&now, n); v.IntN(2) == 0 {
		a.alone = func(ctx context.Context) (*mapper.Receipt, error) {
			return v.m.Update(ctx, n, func(k *player) error { *k = clone(is); return nil })
		}
	}
	return a
}

func (v *village) move(id, to string) *act {
	e := v.load(id)
	if e == nil || id == to {
		return nil
	}
	was := v.stored[id]
	v.draw(&e.Value)
	e.Value.ID = to
	return &act{
		what: "move", was: &was, is: v.born(e.Value), exists: v.live(to), part: v.m.SavePart(e, mapper.Move()), e: e,
		alone: func(ctx context.Context) (*mapper.Receipt, error) { return v.m.Save(ctx, e, mapper.Move()) },
	}
}

// sought returns the selection of a player by its key or a value, and the player, nil for none.
func (v *village) sought(id string) (what string, n *query.Node[player], was *resident) {
	at := func(id string) *resident {
		if k := v.stored[id]; v.live(id) {
			return &k
		}
		return nil
	}
	switch v.IntN(4) {
	case 0:
		email := one(v, "a", "A", "b", "C")
		n = mapperimpl.Lookup(0, func(k *player) { k.Email = email })
		return "by email", n, at(v.owner(0, strings.ToLower(email)))
	case 1:
		tenant, nick := one(v, "t", "u"), one(v, "n", "m")
		n = mapperimpl.Lookup(1, func(k *player) { k.Tenant, k.Nick = tenant, nick })
		return "by nick", n, at(v.owner(1, tenant+"#"+nick))
	}
	return "by key", handmade.Node(v.m.Key(id)), at(id)
}

func (v *village) patch(id string) *act {
	how, n, was := v.sought(id)
	email, nick, name := one(v, "a", "A", "b", "B", "c"), one(v, "n", "m", "N"), one(v, "x", "z")
	e, kind := handmade.Entity[player]{Node: n}, v.IntN(6)
	p := []func() *mapper.ItemPatch[player, *player]{
		func() *mapper.ItemPatch[player, *player] { return e.Patch(playerEmail.Set(email)) },
		func() *mapper.ItemPatch[player, *player] { return e.Patch(playerNick.Set(nick), playerName.Set(name)) },
		func() *mapper.ItemPatch[player, *player] {
			return e.Patch(playerEmail.Set(email), playerNick.Set(nick))
		},
		func() *mapper.ItemPatch[player, *player] { return e.Patch(playerEmail.Remove(), playerName.Set(name)) },
		func() *mapper.ItemPatch[player, *player] { return e.Patch(playerName.Set(name)) },
		func() *mapper.ItemPatch[player, *player] { return e.Patch(playerNick.Remove()) },
	}[kind]()
	change := func(k *player) {
		k.Email = []string{email, k.Email, email, "", k.Email, k.Email}[kind]
		k.Nick = []string{k.Nick, nick, nick, k.Nick, k.Nick, ""}[kind]
		k.Name = []string{k.Name, name, k.Name, name, name, k.Name}[kind]
	}
	a := &act{what: fmt.Sprint("patch ", kind, " ", how), was: was, missing: was == nil}
	if was == nil && how == "by key" { // what it would make
		k := player{ID: id}
		change(&k)
		a.is = v.born(k)
	}
	switch {
	case how == "by key" && v.IntN(2) == 0 && kind != 5:
		p = p.Upsert()
		a.what = a.what + " upsert"
		_, a.missing = v.stored[id] // it has expired, and is not made anew
		a.missing = a.missing && was == nil
	case v.IntN(4) == 0:
		p = p.IfEntityExists()
	}
	if was != nil {
		is := *was
		change(&is.player)
		a.is = &is
	}
	a.part = p.PatchPart(v.m)
	a.alone = func(ctx context.Context) (*mapper.Receipt, error) { return p.Exec(ctx, v.m) }
	return a
}

func (v *village) delete(id string) *act {
	var options []mapper.WriteOption
	if v.IntN(3) == 0 {
		options = []mapper.WriteOption{mapper.Staged()}
	}
	if v.IntN(2) == 0 {
		if e := v.load(id); e != nil {
			was := v.stored[id]
			return &act{
				what: fmt.Sprint("delete loaded ", len(options)), was: &was, part: v.m.DeletePart(e),
				alone: func(ctx context.Context) (*mapper.Receipt, error) { return v.m.Delete(ctx, e, options...) },
			}
		}
	}
	how, n, was := v.sought(id)
	missing := was == nil
	if k, ok := v.stored[id]; ok && how == "by key" { // perhaps it has expired
		was = &k
	}
	return &act{
		what: fmt.Sprint("delete ", how, len(options)), was: was, missing: missing, key: id, lax: how == "by key",
		part:  v.m.DeletePartByKey(n),
		alone: func(ctx context.Context) (*mapper.Receipt, error) { return v.m.DeleteByKey(ctx, n, options...) },
	}
}

// swap returns saves of two players that exchange their values.
func (v *village) swap(one, two string) []*act {
	a, b := v.load(one), v.load(two)
	if a == nil || b == nil || one == two {
		return nil
	}
	a.Value.Email, b.Value.Email = b.Value.Email, a.Value.Email
	a.Value.Nick, b.Value.Nick = b.Value.Nick, a.Value.Nick
	a.Value.Tenant, b.Value.Tenant = b.Value.Tenant, a.Value.Tenant
	var all []*act
	for _, e := range []*mapper.Entity[player]{a, b} {
		was := v.stored[e.Value.ID]
		is := &resident{clone(e.Value), was.life}
		all = append(all, &act{what: "swap", was: &was, is: is, part: v.m.SavePart(e), e: e})
	}
	return all
}

// next draws an operation.
func (v *village) next() (all []*act) {
	some := func() *act {
		switch v.IntN(10) {
		case 0, 1:
			return v.insert(v.id())
		case 2, 3:
			return v.save(v.there())
		case 4, 5, 6:
			return v.patch(v.there())
		case 7:
			return v.move(v.there(), v.id())
		case 8:
			return v.update(v.there())
		}
		return v.delete(v.there())
	}
	if v.IntN(8) == 0 {
		return v.swap(v.there(), v.there())
	}
	taken := map[string]bool{}
	for range max(1, v.IntN(8)-3) {
		a := some()
		if a == nil || slices.ContainsFunc(a.ids(), func(id string) bool { return taken[id] }) {
			continue
		}
		if a.what == "move" { // no part of a transaction
			return []*act{a}
		}
		for _, id := range a.ids() {
			taken[id] = true
		}
		all = append(all, a)
	}
	return all
}

// expect returns the errors of which an operation has one, nil if it succeeds, and the owners of taken values.
func (v *village) expect(all []*act) (errs []error, owners []string) {
	takers := map[string]bool{}
	leaves := func(id string) bool {
		return slices.ContainsFunc(all, func(a *act) bool { return a.was != nil && a.was.ID == id })
	}
	for _, a := range all {
		if a.missing {
			errs = append(errs, mapper.ErrNotFound)
		}
		if a.exists {
			errs = append(errs, mapper.ErrExists)
		}
		if a.is == nil {
			continue
		}
		for u, value := range a.is.values() {
			if value == "" {
				continue
			}
			at := fmt.Sprint(u, value)
			owner := v.owner(u, value)
			switch {
			case takers[at]:
				errs = append(errs, mapper.ErrTaken)
				for _, b := range all {
					if b.is != nil && b.is.values()[u] == value {
						owners = append(owners, b.is.ID)
					}
				}
			case owner != "" && owner != a.is.ID && !leaves(owner):
				errs, owners = append(errs, mapper.ErrTaken), append(owners, owner)
			}
			takers[at] = true
		}
	}
	return errs, owners
}

// apply does an operation in memory.
func (v *village) apply(all []*act) {
	for _, a := range all { // first all releases
		if a.was == nil {
			continue
		}
		delete(v.stored, a.was.ID)
		for u, value := range a.was.values() {
			if at := guardAt(u, value); v.guards[at] == fmt.Sprint(a.was.ID, " ", a.was.life) {
				delete(v.guards, at)
			}
		}
	}
	for _, a := range all {
		if a.is == nil {
			continue
		}
		for u, value := range a.is.values() {
			if value == "" {
				continue
			}
			for id, k := range v.stored { // an expired owner
				if k.values()[u] == value && id != a.is.ID && v.expired(k) {
					delete(v.stored, id)
				}
			}
			v.guards[guardAt(u, value)] = fmt.Sprint(a.is.ID, " ", a.is.life)
		}
	}
	for _, a := range all {
		if a.is != nil {
			v.stored[a.is.ID] = *a.is
		}
	}
}

func guardAt(u int, value string) string {
	return []string{"player#Email#", "player#Tenant,Nick#"}[u] + value
}

func (v *village) fault(format string, args ...any) {
	v.t.Helper()
	last := strings.Join(v.log[max(0, len(v.log)-12):], "\n")
	v.t.Errorf("operation %d: %s\n%s", v.n, fmt.Sprintf(format, args...), last)
}

// note adds a line to the log, which keeps the last ones.
func (v *village) note(line string) {
	if len(v.log) > 200 {
		v.log = slices.Clone(v.log[100:])
	}
	v.log = append(v.log, line)
}

// run sends an operation, and compares its result and cost.
func (v *village) run(all []*act) {
	ctx := context.Background()
	errs, owners := v.expect(all)
	may := 0 // errors that are possible
	for _, a := range all {
		if a.lax && a.missing {
			may++
		}
	}
	var text []string
	var parts []mapper.Part
	for _, a := range all {
		text = append(text, fmt.Sprintf("%s %s -> %s", a.what, a.was, a.is))
		parts = append(parts, a.part)
	}
	v.note(strings.Join(text, " | "))
	var r *mapper.Receipt
	var err error
	if len(all) == 1 && all[0].alone != nil {
		r, err = all[0].alone(ctx)
	} else if slices.ContainsFunc(all, func(a *act) bool { return a.update != nil }) {
		r, err = mapper.UpdateAll(ctx, func() error {
			for _, a := range all {
				if a.update != nil {
					a.update()
				}
			}
			return nil
		}, parts...)
	} else {
		r, err = mapper.Transact(ctx, parts...)
	}
	v.log = append(v.log, fmt.Sprint("   ", err))
	switch {
	case err == nil && len(errs) > may:
		v.fault("no error, want one of %v", errs)
	case err != nil && !slices.ContainsFunc(errs, func(want error) bool { return errors.Is(err, want) }):
		v.fault("%v, want one of %v", err, errs)
	}
	var taken *mapper.UniqueError
	if errors.As(err, &taken) && !slices.Contains(owners, strings.TrimPrefix(taken.Owner.Partition, "PLAYER#")) {
		v.fault("%v, want an owner of %v", err, owners)
	}
	for _, a := range all {
		for _, id := range a.ids() {
			delete(v.held, id)
		}
	}
	if err != nil {
		v.count[fmt.Sprint(len(all), " refused")]++
		for _, a := range all {
			if a.e != nil && a.was != nil && v.IntN(2) == 0 { // it is as it was loaded
				v.held[a.was.ID] = a.e
			}
		}
		return
	}
	v.count[fmt.Sprint(len(all), " written")]++
	v.apply(all)
	for _, a := range all {
		if a.e != nil && a.is != nil {
			v.held[a.is.ID] = a.e
		}
	}
	p := r.Predicted()
	wcu := p.WCU.Expected - r.Refused.Expected
	if v.exact && (wcu != r.Consumed.WCU || p.RCU.Expected != r.Consumed.RCU) {
		v.fault("predicted and consumed differ: %v, refused %v, consumed %+v", p, r.Refused, r.Consumed)
	}
}

func (k *resident) String() string {
	if k == nil {
		return "-"
	}
	ends := ""
	if !k.Ends.IsZero() {
		ends = fmt.Sprint(k.Ends.Unix())
	}
	return fmt.Sprintf("%s(%s,%s,%s,%s,%s,%d)", k.ID, k.Email, k.Tenant, k.Nick, k.Name, ends, len(k.Notes))
}

// compare compares the table with the model.
func (v *village) compare() {
	in := &dynamodb.ScanInput{TableName: &v.table, ConsistentRead: aws.Bool(true)}
	out, err := v.client.Scan(context.Background(), in)
	if err != nil {
		v.fault("%v", err)
		return
	}
	notes, roots, got := map[string]int{}, map[string]string{}, map[string]string{}
	lives := map[string]string{}
	for _, it := range out.Items {
		pk, sk := plain(it["PK"]), plain(it["SK"])
		id := strings.TrimPrefix(pk, "PLAYER#")
		switch {
		case strings.HasPrefix(pk, "~unique#"):
			owner := strings.TrimPrefix(plain(it["~pk"]), "PLAYER#")
			got[strings.TrimPrefix(pk, "~unique#")] = owner + " " + token(it["_a"])
		case sk == "HEAD":
			roots[id] = strings.Join([]string{
				plain(it["Email"]), plain(it["Tenant"]), plain(it["Nick"]), plain(it["Name"]),
			}, ",")
			lives[id] = token(it["_a"])
			if !door.Mapper.Model(v.m).Reserved.Header(it).Live() {
				v.fault("%s is not live", id)
			}
		default:
			notes[id+" "+sk+" "+plain(it["Text"])+token(it["_a"])]++
		}
	}
	want := map[string]string{}
	for id, k := range v.stored {
		want[id] = strings.Join([]string{k.Email, k.Tenant, k.Nick, k.Name}, ",")
		for _, n := range k.Notes {
			if notes[fmt.Sprintf("%s NOTE#%03d %s%s", id, n.N, n.Text, lives[id])] != 1 {
				v.fault("note %d of %s is missing: %v", n.N, id, notes)
			}
		}
	}
	if !maps.Equal(roots, want) {
		v.fault("players: %v, want %v", roots, want)
	}
	v.compareGuards(got, lives)
}

// compareGuards compares the guards, whose owners are players with their incarnations.
func (v *village) compareGuards(got, lives map[string]string) {
	for at, owner := range v.guards {
		id, life, _ := strings.Cut(owner, " ")
		has := got[at]
		k, stored := v.stored[id]
		if !strings.HasPrefix(has, id+" ") || stored && (fmt.Sprint(k.life) == life) != (has == id+" "+lives[id]) {
			v.fault("the guard %s names %q, want %s (%s)", at, has, owner, lives[id])
		}
		delete(got, at)
	}
	if len(got) > 0 {
		v.fault("more guards: %v", got)
	}
}

func plain(a types.AttributeValue) string {
	s, _ := a.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func token(a types.AttributeValue) string {
	b, _ := a.(*types.AttributeValueMemberB)
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%x", b.Value)
}

// tick lets time pass. DynamoDB deletes one expired player, or none.
func (v *village) tick() {
	if v.IntN(2) == 0 {
		v.now = v.now.Add(time.Hour)
		v.log = append(v.log, "an hour later")
	}
	for id, k := range v.stored {
		if v.expired(k) {
			if _, err := v.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: &v.table, Key: kit.Item{"PK": kit.S("PLAYER#" + id), "SK": kit.S("HEAD")},
			}); err != nil {
				v.fault("%v", err)
			}
			delete(v.stored, id)
			v.log = append(v.log, "expired and deleted: "+id)
			return
		}
	}
}

// find looks a value up.
func (v *village) find() {
	how, n, want := v.sought(v.id())
	var options []mapper.ReadOption
	if v.IntN(2) == 0 {
		options = append(options, mapper.Strong())
	}
	var r mapper.Receipt
	e, err := v.m.Load(context.Background(), n, append(options, mapper.ReceiptTo(&r))...)
	if want == nil && !errors.Is(err, mapper.ErrNotFound) || want != nil && (err != nil || e.Value.ID != want.ID) {
		v.fault("load %s: %v, %v, want %s", how, e, err, want)
	}
	if p := r.Predicted(); v.exact && p.RCU.Expected != r.Consumed.RCU {
		v.fault("load %s: predicted %v, consumed %v", how, p, r.Consumed)
	}
}

// Random operations of one client do what a model in memory does: the results, the whole table, the cost.
func TestUniqueValuesFollowTheModel(t *testing.T) {
	t.Parallel()
	const villages = 4
	seed := draws.Seed(t)
	n := draws.Times(300, 10_000, 1_000_000)
	begin := time.Now()
	var wait sync.WaitGroup
	all := make([]*village, villages)
	for i := range all {
		all[i] = newVillage(t, seed+uint64(i))
	}
	for _, v := range all {
		wait.Go(func() {
			for v.n = 0; v.n < n/villages && !t.Failed(); v.n++ {
				switch v.IntN(16) {
				case 0:
					v.tick()
				case 1:
					v.find()
				default:
					if all := v.next(); len(all) > 0 {
						v.run(all)
					}
				}
				v.compare()
			}
		})
	}
	wait.Wait()
	t.Logf("%.0f operations a second: %v", float64(n)/time.Since(begin).Seconds(), all[0].count)
}
