package unique_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// A new table is verified once. Then the e-mail address finds its owner, and no other account can have it.
func Example() {
	type Account struct {
		_     struct{} `ddb:"table=accounts"`
		ID    string   `ddb:"pk=ACCOUNT#{ID}"`
		Email string   `ddb:"sk=HEAD,unique=fold"`
	}
	ctx := context.Background()
	engine, err := integration.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop()
	if err := engine.CreateTable(ctx, "accounts", "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	accounts, err := mapper.New[Account](engine.Client())
	if err != nil {
		log.Fatal(err)
	}
	r, err := unique.Verify(ctx, accounts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("verified:", r.Verified())
	if _, err := accounts.Save(ctx, accounts.New(Account{ID: "1", Email: "ann@example.com"})); err != nil {
		log.Fatal(err)
	}
	_, err = accounts.Save(ctx, accounts.New(Account{ID: "2", Email: "Ann@example.com"}))
	var taken *mapper.UniqueError
	fmt.Println("taken:", errors.As(err, &taken), taken.Field, taken.Owner.Partition)
	e, err := accounts.Load(ctx, accounts.Unique("Email", "ANN@example.com")) // generated: store.AccountByEmail
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("owner:", e.Value.ID)
	// Output:
	// verified: true
	// taken: true Email ACCOUNT#1
	// owner: 1
}
