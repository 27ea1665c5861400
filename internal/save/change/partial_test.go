package change_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Law 2: any part of an entity is loaded, emptied or replaced, and saved. Nothing outside that part
// changes: items outside the selection, elements outside the range, unknown items, unknown attributes
// of items that stay.
func TestPartialSaveLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	seed := draws.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	selections := func(k *query.Key[kit.User]) map[string]query.Selection[kit.User] {
		return map[string]query.Selection[kit.User]{
			"U#":                          k.Prefix("U#"),
			"U#Address#":                  k.Prefix("U#Address#"),
			"M#WishList#":                 k.Prefix("M#WishList#"),
			"M#WishList#Public#2021-11-":  k.Prefix("M#WishList#Public#2021-11-"),
			"M#Card#":                     k.Prefix("M#Card#"),
			"=U#Information":              k.Item("U#Information"),
			"=M#Card#visa":                k.Item("M#Card#visa"),
			"=U#Information,=M#Card#amex": query.Join(k.Item("U#Information"), k.Item("M#Card#amex")),
			"":                            k,
		}
	}
	for i := range draws.Times(8, 60, 600) {
		id := fmt.Sprint(i)
		pk := "USER#" + id
		kit.Must(users.Save(ctx, users.New(kit.SomeUser(id))))(t)
		// A newer program's items and attributes, and an older one's.
		r.Put(kit.Item{"PK": kit.S(pk), "SK": kit.S("X#Unknown"), "a": kit.S("kept")})
		r.Put(kit.Item{"PK": kit.S(pk), "SK": kit.S("M#WishList#Public#not-a-time"), "a": kit.S("kept")})
		r.Put(kit.Item{"PK": kit.S(pk), "SK": kit.S("U#AddressBook#1"), "a": kit.S("kept")})
		for _, sk := range []string{
			"U#Information", "U#Address#Home", "M#Card#visa",
			"M#WishList#Public#2021-11-14T09:30:00.000000000Z",
		} {
			r.Set(pk, sk, "newer", kit.S("kept"))
		}
		before := r.All(pk)
		for name, sel := range selections(users.Key(id)) {
			e := kit.Must(users.Load(ctx, sel))(t)
			selects := func(sk string) bool { return selected(name, sk) }
			scramble(rnd, &e.Value, selects)
			if _, err := users.Save(ctx, e); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			after := r.All(pk)
			for sk, was := range before {
				now := after[sk]
				switch {
				case !selects(sk) || unknown(sk):
					if d := cmp.Diff(was, now); d != "" {
						t.Fatalf("%q: the item %s, which was not loaded, changed (-before +after):\n%s", name, sk, d)
					}
				case now != nil && was["newer"] != now["newer"]:
					t.Fatalf("%q: the unknown attribute of %s is gone", name, sk)
				}
			}
			before = after
		}
	}
}

func unknown(sk string) bool {
	return sk == "X#Unknown" || sk == "M#WishList#Public#not-a-time" || sk == "U#AddressBook#1"
}

// selected reports whether one of the test's selections holds a sort key.
func selected(name, sk string) bool {
	for len(name) > 0 && name[0] == '=' {
		one := name[1:]
		rest := ""
		for i := range one {
			if one[i] == ',' {
				one, rest = one[:i], one[i+1:]
				break
			}
		}
		if one == sk {
			return true
		}
		if rest == "" {
			return false
		}
		name = rest
	}
	return len(sk) >= len(name) && sk[:len(name)] == name
}

// scramble changes values in the selection.
func scramble(r *rand.Rand, u *kit.User, selects func(string) bool) {
	if selects("U#Information") {
		u.Email = fmt.Sprint(r.IntN(10))
	}
	if selects("U#Address#Home") && r.IntN(2) == 0 {
		u.Home = []kit.Address{{}, {Street: "x", City: fmt.Sprint(r.IntN(3))}}[r.IntN(2)]
	}
	if selects("U#Address#Delivery") {
		u.Delivery = []*kit.Address{nil, {}, {Street: "y", City: "z"}}[r.IntN(3)]
	}
	switch {
	case selects("M#WishList#Public#2021-10-"):
		u.Public = u.Public[:r.IntN(len(u.Public)+1)]
	case selects("M#WishList#Public#2021-11-") && len(u.Public) > 0:
		u.Public[0].Title += "!"
	}
	if selects("M#Card#visa") && r.IntN(2) == 0 {
		u.Cards = map[string]kit.Card{"visa": {Last4: fmt.Sprint(r.IntN(100))}}
	}
}

// A change of a field that was not loaded is refused before any request, and nothing is written.
func TestNotLoadedIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	k := users.Key("1")
	for name, c := range map[string]struct {
		sel    query.Selection[kit.User]
		change func(*kit.User)
		field  string
		sort   string
	}{
		"a singleton": {k.Prefix("U#Address#"), func(u *kit.User) { u.Email = "x" }, "Email", "U#Information"},
		"a pointer": {
			k.Item("U#Information"), func(u *kit.User) { u.Delivery = &kit.Address{} }, "Delivery",
			"U#Address#Delivery",
		},
		"an element": {
			k.Item("U#Information"), func(u *kit.User) { u.Public = []kit.Wish{{AddedAt: kit.Day(1, 1)}} },
			"Public", "M#WishList#Public#2021-01-01T09:30:00.000000000Z",
		},
		"beyond the range": {
			k.Prefix("M#WishList#Public#2021-11-"),
			func(u *kit.User) { u.Public = append(u.Public, kit.Wish{AddedAt: kit.Day(12, 1)}) }, "Public",
			"M#WishList#Public#2021-12-01T09:30:00.000000000Z",
		},
		"an entry of a map": {
			k.Item("M#Card#visa"), func(u *kit.User) { u.Cards["amex"] = kit.Card{} }, "Cards",
			"M#Card#amex",
		},
	} {
		e := kit.Must(users.Load(ctx, c.sel))(t)
		before := r.All("USER#1")
		c.change(&e.Value)
		receipt, err := users.Save(ctx, e)
		var not *mapper.NotLoadedError
		if !errors.As(err, &not) || not.Field != c.field || not.Key.Sort != c.sort ||
			receipt.Predicted().Requests != 0 {
			t.Errorf("%s: %v after %d requests", name, err, receipt.Predicted().Requests)
		}
		if d := cmp.Diff(before, r.All("USER#1")); d != "" {
			t.Errorf("%s: something was written:\n%s", name, d)
		}
	}
}

// A load of a part returns the items of the part, and costs as much as these.
func TestLoadParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	want := kit.SomeUser("1")
	kit.Must(users.Save(ctx, users.New(want)))(t)
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("X#Unknown"), "a": kit.S("kept")})
	k := users.Key("1")
	for name, c := range map[string]struct {
		sel      query.Selection[kit.User]
		want     kit.User
		unknown  int
		requests int
	}{
		"all":              {k, want, 1, 1},
		"a prefix":         {k.Prefix("U#Address#"), kit.User{ID: "1", Home: want.Home, Delivery: want.Delivery}, 0, 1},
		"one item":         {k.Item("U#Information"), kit.User{ID: "1", Email: want.Email, Name: want.Name}, 0, 1},
		"a month":          {k.Prefix("M#WishList#Public#2021-11-"), kit.User{ID: "1", Public: want.Public[1:]}, 0, 1},
		"an item, missing": {k.Item("M#Card#none"), kit.User{ID: "1"}, 0, 1},
		"several items": {
			query.Join(k.Item("U#Information"), k.Item("M#Card#visa")),
			kit.User{ID: "1", Email: want.Email, Name: want.Name, Cards: map[string]kit.Card{"visa": {Last4: "1111"}}},
			0, 1,
		},
		"an item twice": {
			query.Join(k.Item("M#Card#visa"), k.Prefix("M#Card#")),
			kit.User{ID: "1", Cards: want.Cards},
			0, 2,
		},
	} {
		var receipt mapper.Receipt
		e, err := users.Load(ctx, c.sel, mapper.ReceiptTo(&receipt))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, e.Value, kit.UserOptions); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if e.Unknown() != c.unknown || receipt.Predicted().Requests != c.requests {
			t.Errorf("%s: %d unknown, %d requests", name, e.Unknown(), receipt.Predicted().Requests)
		}
		if c := receipt.Consumed.RCU; c != receipt.Predicted().RCU.Max && (c > 0 || testengine.ReportsMisses(t)) {
			t.Errorf("%s: consumed %v RCU; predicted %v", name, c, receipt.Predicted().RCU)
		}
		// The entity is a selection of the loaded items.
		again, err := users.Load(ctx, e, mapper.Strong())
		if err != nil || !cmp.Equal(again.Value, e.Value, kit.UserOptions) {
			t.Errorf("%s: loaded again: %+v, %v", name, again, err)
		}
	}
}
