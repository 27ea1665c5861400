package mapper_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// canned is a transport that answers at once, always the same.
type canned struct{ body []byte }

func (c canned) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: 200, Request: r, ContentLength: int64(len(c.body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader(c.body)),
	}, nil
}

func cannedClient(body string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: canned{[]byte(body)},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})
}

// twenty is a user of 20 items of 7.5 KB each, 150 KB in all.
func twenty() store.User {
	large := strings.Repeat("t", 7500)
	u := store.User{
		ID: "6297D15", Email: "a@example.com", Name: "Ann", Home: store.Address{Street: "Street"},
		Delivery: &store.Address{Street: "Street"},
		Cart:     store.Cart{Lines: large}, History: store.History{Pages: large}, Display: store.Display{Theme: "dark"},
		Mail: store.Mail{News: true},
	}
	for i := range 12 {
		u.Public = append(u.Public,
			store.Wish{AddedAt: kit.Day(1, 1).AddDate(0, 0, i), SKU: fmt.Sprint("SKU-", i), Title: large, Price: 12.5})
	}
	u.Private = []store.Wish{{AddedAt: kit.Day(1, 1), SKU: "SKU", Title: large, Price: 12.5}}
	return u
}

// mappers are the two mappers of a model: with generated code, and by reflection.
func mappers(b *testing.B, c mapper.Client) map[string]*mapper.Mapper[store.User] {
	b.Helper()
	g, err := mapper.New[store.User](c)
	if err != nil {
		b.Fatal(err)
	}
	r, err := mapper.NewReflected[store.User](c)
	if err != nil {
		b.Fatal(err)
	}
	return map[string]*mapper.Mapper[store.User]{"generated": g, "reflected": r}
}

// BenchmarkSaveOneDirty saves one changed attribute of an entity of 20 items, and compares with an
// UpdateItem by hand with the same effect.
func BenchmarkSaveOneDirty(b *testing.B) {
	const body = `{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"users"}}`
	ctx := context.Background()
	for name, users := range mappers(b, cannedClient(body)) {
		b.Run(name, func(b *testing.B) {
			e := users.New(twenty())
			// the canned answer has no root item
			if _, err := users.Save(ctx, e, mapper.Independent(), mapper.Blind()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.Value.Email = emails[i%2]
				if r, err := users.Save(ctx, e); err != nil || r.Predicted().Requests != 1 {
					b.Fatal(r, err)
				}
			}
		})
	}
	b.Run("handwritten", func(b *testing.B) {
		save := savingByHand(b, cannedClient(body))
		b.ReportAllocs()
		for b.Loop() {
			save()
		}
	})
}

// savingByHand returns a function that changes one attribute as a save does, written by
// hand.
func savingByHand(b *testing.B, client *dynamodb.Client) func() {
	u := twenty() // it is in memory here as well
	version := []byte("12345678")
	i := 0
	return func() {
		i++
		u.Email = emails[i%2]
		next := make([]byte, 8)
		if _, err := rand.Read(next); err != nil {
			b.Fatal(err)
		}
		_, err := client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName:        aws.String("users"),
			Key:              kit.Item{"PK": kit.S("6297D15"), "SK": kit.S("U#Information")},
			UpdateExpression: aws.String("SET #e = :e, #v = :v"), ConditionExpression: aws.String("#v = :o"),
			ExpressionAttributeNames: map[string]string{"#e": "email", "#v": "_v"},
			ExpressionAttributeValues: kit.Item{
				":e": kit.S(u.Email), ":v": &types.AttributeValueMemberB{Value: next},
				":o": &types.AttributeValueMemberB{Value: version},
			},
			ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			b.Fatal(err)
		}
		version = next
	}
}

// BenchmarkAgainstByHand runs a save of one attribute, and a load of 20 small items, in turns with the
// same by hand. It reports the ratio of the medians, because other load of the machine slows both
// equally.
func BenchmarkAgainstByHand(b *testing.B) {
	ctx := context.Background()
	const body = `{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"users"}}`
	b.Run("save", func(b *testing.B) {
		users := mappers(b, cannedClient(body))["generated"]
		e := users.New(twenty())
		// the canned answer has no root item
		if _, err := users.Save(ctx, e, mapper.Independent(), mapper.Blind()); err != nil {
			b.Fatal(err)
		}
		i := 0
		inTurns(b, func() {
			i++
			e.Value.Email = emails[i%2]
			if r, err := users.Save(ctx, e); err != nil || r.Predicted().Requests != 1 {
				b.Fatal(r, err)
			}
		}, savingByHand(b, cannedClient(body)))
	})
	b.Run("load", func(b *testing.B) {
		client := cannedClient(wishes(100))
		users := mappers(b, client)["generated"]
		inTurns(b, func() {
			e, err := users.Load(ctx, users.Key("1").Prefix("M#WishList#Public#"))
			if err != nil || len(e.Value.Public) != 20 {
				b.Fatal(err)
			}
		}, loadingByHand(b, client))
	})
}

// inTurns reports the ratio of the medians of two functions.
func inTurns(b *testing.B, ours, hand func()) {
	var took [2][]float64
	for b.Loop() {
		for i, f := range []func(){ours, hand} {
			start := time.Now()
			f()
			took[i] = append(took[i], float64(time.Since(start)))
		}
	}
	median := func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/2]
	}
	b.ReportMetric(median(took[0])/median(took[1]), "x-by-hand")
}

var emails = []string{"b@example.com", "c@example.com"}

// storedWish is the shape of a wish's item for UnmarshalListOfMaps.
type storedWish struct {
	PK, SK  string
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

// BenchmarkLoad loads 20 items, and compares with a Query and UnmarshalListOfMaps.
func BenchmarkLoad(b *testing.B) {
	ctx := context.Background()
	for _, size := range []int{100, 7500} {
		client := cannedClient(wishes(size))
		for name, users := range mappers(b, client) {
			b.Run(fmt.Sprintf("%s/%d bytes", name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e, err := users.Load(ctx, users.Key("1").Prefix("M#WishList#Public#"))
					if err != nil || len(e.Value.Public) != 20 {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("handwritten/%d bytes", size), func(b *testing.B) {
			load := loadingByHand(b, client)
			b.ReportAllocs()
			for b.Loop() {
				load()
			}
		})
	}
}

// wishes is the answer to a query: 20 items with titles of a size.
func wishes(size int) string {
	var body strings.Builder
	body.WriteString(`{"Count":20,"ScannedCount":20,"ConsumedCapacity":{"CapacityUnits":2,"TableName":"users"},` +
		`"Items":[`)
	for i := range 20 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"PK":{"S":"1"},"SK":{"S":"M#WishList#Public#%s"},"SKU":{"S":"SKU-%d"},"Title":{"S":%q},`+
			`"Price":{"N":"12.5"},"_v":{"B":"MTIzNDU2Nzg="}}`,
			kit.Day(1, 1).AddDate(0, 0, i).Format("2006-01-02T15:04:05.000000000Z"), i, strings.Repeat("t", size))
	}
	body.WriteString("]}")
	return body.String()
}

// loadingByHand returns a function that loads the same by a Query and UnmarshalListOfMaps.
func loadingByHand(b *testing.B, client *dynamodb.Client) func() {
	return func() {
		out, err := client.Query(context.Background(), &dynamodb.QueryInput{
			TableName: aws.String("users"), KeyConditionExpression: aws.String("PK = :p AND begins_with(SK, :s)"),
			ExpressionAttributeValues: kit.Item{":p": kit.S("1"), ":s": kit.S("M#WishList#Public#")},
			ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			b.Fatal(err)
		}
		var all []storedWish
		if err := attributevalue.UnmarshalListOfMaps(out.Items, &all); err != nil || len(all) != 20 {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnchanged saves an entity of 1,000 elements in which nothing has changed:
// the comparison alone.
func BenchmarkUnchanged(b *testing.B) {
	ctx := context.Background()
	for name, users := range mappers(b, cannedClient(`{}`)) {
		b.Run(name, func(b *testing.B) {
			u := twenty()
			for i := range 1000 {
				u.Private = append(u.Private, store.Wish{AddedAt: kit.Day(1, 1).AddDate(1, 0, i), Title: "t"})
			}
			e := users.New(u)
			// the canned answer has no root item
			if _, err := users.Save(ctx, e, mapper.Independent(), mapper.Blind()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := users.Unchanged(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// plainWish is a wish for attributevalue: with the fields that generated code leaves to the key.
type plainWish struct {
	SKU   string
	Title string
	Price float64
	Notes string
}

// BenchmarkCodec encodes and decodes the attributes of a wish, and compares with attributevalue.
func BenchmarkCodec(b *testing.B) {
	const item = 8 // Public
	c := mapper.CodecOf[store.User](new(store.User))
	codec, names := c.Record(item), []string{"SKU", "Title", "Price", "Notes"}
	wish := store.Wish{SKU: "SKU-1", Title: "A title of some words", Price: 12.5, Notes: "Some notes"}
	plain := plainWish{wish.SKU, wish.Title, wish.Price, wish.Notes}
	encoded, err := attributevalue.MarshalMap(&plain)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode/generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := make(map[string]types.AttributeValue, len(names))
			for i, name := range names {
				v, err := codec.Encode(&wish, i)
				if err != nil {
					b.Fatal(err)
				}
				m[name] = v
			}
		}
	})
	b.Run("encode/attributevalue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := attributevalue.MarshalMap(&plain); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode/generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var w store.Wish
			for i, name := range names {
				if err := codec.Decode(&w, i, encoded[name]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("decode/attributevalue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var w plainWish
			if err := attributevalue.UnmarshalMap(encoded, &w); err != nil {
				b.Fatal(err)
			}
		}
	})
}
