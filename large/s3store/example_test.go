package s3store_test

import (
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// A mapper of a model with an s3= field needs a client of S3. The tag names a bucket; Buckets gives it its real name.
func ExampleObjects() {
	type Product struct {
		_      struct{}            `ddb:"table=products"`
		ID     string              `ddb:"pk=PRODUCT#{ID}"`
		Name   string              `ddb:"sk=HEAD"`
		Manual large.Value[[]byte] `ddb:"sk=MANUAL,s3=manuals"`
	}
	db := dynamodb.New(dynamodb.Options{})
	if _, err := mapper.New[Product](db); err != nil {
		fmt.Println("without a client:", err != nil)
	}
	products, err := mapper.New[Product](db,
		s3store.Objects(s3.New(s3.Options{}), s3store.Buckets(func(name string) string { return "prod-" + name })))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := products.PlanSave(products.New(Product{ID: "1", Name: "Drill", Manual: large.Of(make([]byte, 1<<20))}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Objects.Puts, "object of", plan.Objects.Sent>>10, "KB")
	// Output:
	// without a client: true
	// 1 object of 1024 KB
}
