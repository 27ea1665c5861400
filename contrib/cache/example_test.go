package cache_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/itemize/itemize/contrib/cache"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

// The second of two loads reads nothing.
func ExampleNew() {
	ctx := context.Background()
	engine, err := integration.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop()
	if err := engine.CreateTable(ctx, "users", "PK:S", "SK:S"); err != nil {
		log.Fatal(err)
	}
	kept := mapper.NewCache(cache.New(64<<20), time.Minute)
	users, err := mapper.New[store.User](engine.Client(), mapper.Caching(kept))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := users.Save(ctx, users.New(store.User{ID: "1", Email: "ann@example.com"})); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := users.Load(ctx, store.UserByID("1")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(kept.Stats().Misses, "miss,", kept.Stats().Hits, "hit")
	// Output:
	// 1 miss, 1 hit
}
