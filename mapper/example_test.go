package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// user is the model of the documentation: structs, a pointer, two lists, and a map.
type user struct {
	_        struct{}        `ddb:"table=users"`
	ID       string          `ddb:"pk=USER#{ID}"`
	Email    string          `ddb:"sk=U#Information" dynamodbav:"email"`
	Name     string          `ddb:"sk=U#Information" dynamodbav:"name,omitempty"`
	Home     address         `ddb:"sk=U#Address#Home"`
	Delivery *address        `ddb:"sk=U#Address#Delivery"`
	Public   []wish          `ddb:"sk=M#WishList#Public#{AddedAt}"`
	Private  []wish          `ddb:"sk=M#WishList#Private#{AddedAt}"`
	Cards    map[string]card `ddb:"sk=M#Card#{key}"`
}

type address struct{ Street, City string }

type wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

type card struct{ Last4 string }

var exampleTables atomic.Int64

// exampleUsers returns a mapper on an empty table of a DynamoDB engine. A program
// writes mapper.New[User](dynamodb.NewFromConfig(cfg)).
func exampleUsers(options ...mapper.Option) *mapper.Mapper[user] {
	engine, err := testengine.Get()
	if err != nil {
		log.Fatal(err)
	}
	table := fmt.Sprint("examples-", exampleTables.Add(1))
	if err := engine.CreateTable(context.Background(), table, "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	users, err := mapper.New[user](engine.Client(), append(options, mapper.Table(table))...)
	if err != nil {
		log.Fatal(err)
	}
	return users
}

// ann has four small items.
func ann() user {
	return user{
		ID: "6297D15", Email: "a@example.com", Home: address{"1 Street", "Town"},
		Public: []wish{
			{AddedAt: time.Date(2021, time.October, 3, 0, 0, 0, 0, time.UTC), Title: "A bicycle"},
			{AddedAt: time.Date(2021, time.November, 14, 0, 0, 0, 0, time.UTC), Title: "A tent"},
		},
	}
}

func Example() {
	ctx := context.Background()
	users := exampleUsers()
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	e, err := users.Load(ctx, users.Key("6297D15"))
	if err != nil {
		log.Fatal(err)
	}
	e.Value.Email = "b@example.com"
	receipt, err := users.Save(ctx, e)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Predicted().Requests, "request,", receipt.Consumed.WCU, "WCU,",
		receipt.Predicted().Items[0].Attributes)
	receipt, err = users.Save(ctx, e)
	fmt.Println(receipt.Predicted().Requests, "requests,", err)
	// Output:
	// 1 request, 1 WCU, [email]
	// 0 requests, <nil>
}

// Values that a request reads, prints and drops may share the memory of DynamoDB's answer. That is
// faster, but a value that is kept also keeps the whole answer in memory.
func ExampleShareStrings() {
	ctx := context.Background()
	users := exampleUsers(mapper.ShareStrings())
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	wishes, err := query.Of[wish](users.Key("6297D15").Prefix("M#WishList#Public#")).Collect(ctx, users)
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range wishes {
		fmt.Println(w.Title)
	}
	// Output:
	// A bicycle
	// A tent
}

// A plan shows what a save would cost, and what the other ways would.
func ExampleMapper_PlanSave() {
	users := exampleUsers()
	plan, err := users.PlanSave(users.New(ann()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s WCU\n", plan.Mode, plan.WCU)
	for _, a := range plan.Alternatives {
		fmt.Printf("%s: %s WCU\n", a.Option, a.WCU)
	}
	for _, it := range plan.Items {
		fmt.Println(it.Kind, it.Sort, it.NewBytes, "bytes")
	}
	// Output:
	// transaction: 8 WCU
	// Independent(): 4 WCU
	// Staged(): 5 WCU
	// put U#Information 67 bytes
	// put U#Address#Home 72 bytes
	// put M#WishList#Public#2021-10-03T00:00:00.000000000Z 107 bytes
	// put M#WishList#Public#2021-11-14T00:00:00.000000000Z 104 bytes
}

// A part of an entity is loaded, changed and saved by itself.
func ExampleMapper_Load_part() {
	ctx := context.Background()
	users := exampleUsers()
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	var receipt mapper.Receipt
	november := users.Key("6297D15").Prefix("M#WishList#Public#2021-11-")
	e, err := users.Load(ctx, november, mapper.ReceiptTo(&receipt))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d wish, e-mail %q, %v RCU\n", len(e.Value.Public), e.Value.Email, receipt.Consumed.RCU)
	e.Value.Public = nil // removes November's, and no other
	if _, err := users.Save(ctx, e); err != nil {
		log.Fatal(err)
	}
	e.Value.Email = "b@example.com"
	_, err = users.Save(ctx, e)
	var not *mapper.NotLoadedError
	fmt.Println(errors.As(err, &not))
	// Output:
	// 1 wish, e-mail "", 0.5 RCU
	// true
}

// Update loads, applies the function and saves. It repeats this if another writer is faster.
func ExampleMapper_Update() {
	ctx := context.Background()
	users := exampleUsers()
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	receipt, err := users.Update(ctx, users.Key("6297D15").Item("U#Information"), func(u *user) error {
		u.Name = "Ann"
		return nil
	})
	fmt.Println(receipt.Consumed.WCU, "WCU,", receipt.Consumed.RCU, "RCU", err)
	// Output: 1 WCU, 1 RCU <nil>
}

// A query yields the elements of one type, page by page.
func ExampleMapper_query() {
	ctx := context.Background()
	users := exampleUsers()
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	wishes := query.Of[wish](users.Key("6297D15").Prefix("M#WishList#Public#"))
	for w, err := range wishes.Reverse().All(ctx, users) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.AddedAt.Format(time.DateOnly), w.Title)
	}
	// Output:
	// 2021-11-14 A tent
	// 2021-10-03 A bicycle
}

// An insert fails if the entity exists, and a save if one of its items was changed.
func ExampleConflictError() {
	ctx := context.Background()
	users := exampleUsers()
	mine := users.New(ann())
	if _, err := users.Save(ctx, mine); err != nil {
		log.Fatal(err)
	}
	_, err := users.Save(ctx, users.New(ann()))
	fmt.Println(errors.Is(err, mapper.ErrExists))

	theirs, err := users.Load(ctx, users.Key("6297D15"))
	if err != nil {
		log.Fatal(err)
	}
	theirs.Value.Email = "theirs@example.com"
	if _, err := users.Save(ctx, theirs); err != nil {
		log.Fatal(err)
	}
	mine.Value.Email = "mine@example.com"
	_, err = users.Save(ctx, mine)
	var conflict *mapper.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Items[0].Key.Sort, conflict.Items[0].Conflict)
	}
	// Output:
	// true
	// U#Information changed
}

// An HTTP handler sends the tag of a loaded entity as its ETag. With IfTag it requires the tag that the
// client sends back as If-Match.
func ExampleIfTag() {
	ctx := context.Background()
	users := exampleUsers()
	if _, err := users.Save(ctx, users.New(ann())); err != nil {
		log.Fatal(err)
	}
	account := users.Key("6297D15").Item("U#Information")
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			e, err := users.Load(r.Context(), account)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("ETag", `"`+e.Tag()+`"`)
			fmt.Fprint(w, e.Value.Email)
		case http.MethodPut:
			tag := r.Header.Get("If-Match")
			if tag == "" {
				w.WriteHeader(http.StatusPreconditionRequired)
				return
			}
			var conflict *mapper.ConflictError
			_, err := users.Update(r.Context(), account,
				func(u *user) error { u.Email = r.FormValue("email"); return nil }, mapper.IfTag(tag))
			switch {
			case errors.As(err, &conflict):
				w.WriteHeader(http.StatusPreconditionFailed)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	get := httptest.NewRecorder()
	handler(get, httptest.NewRequest(http.MethodGet, "/", nil))
	for range 2 {
		put := httptest.NewRequest(http.MethodPut, "/?email=b@example.com", nil)
		put.Header.Set("If-Match", get.Header().Get("ETag"))
		answer := httptest.NewRecorder()
		handler(answer, put.WithContext(ctx))
		fmt.Println(answer.Code, http.StatusText(answer.Code))
	}
	// Output:
	// 200 OK
	// 412 Precondition Failed
}

// The text of an error names the fields and keys, and no values. Detail has the values.
func ExampleDetail() {
	users := exampleUsers()
	_, err := users.Save(context.Background(), users.New(user{ID: "1", Email: "ann@example.com\xff"}))
	fmt.Println(err)
	fmt.Println(mapper.Detail(err))
	// Output:
	// mapper_test.user.Email: attribute "email": the string is not valid UTF-8, and would change in the request: store it as []byte
	// mapper_test.user.Email: attribute "email": the string ("ann@example.com\xff") is not valid UTF-8, and would change in the request: store it as []byte
}
