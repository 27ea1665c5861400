package mapper_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
func twenty() user {
	u := user{ID: "6297D15", Email: "a@example.com", Name: "Ann", Home: address{"Street", "Town"}, Delivery: &address{"Street", "City"}, Cards: map[string]card{}}
	for i := range 12 {
		u.Public = append(u.Public, wish{AddedAt: day(1, 1).AddDate(0, 0, i), SKU: fmt.Sprint("SKU-", i), Title: strings.Repeat("t", 7500), Price: 12.5})
	}
	for i := range 3 {
		u.Private = append(u.Private, wish{AddedAt: day(1, 1).AddDate(0, 0, i), SKU: fmt.Sprint("SKU-", i), Title: strings.Repeat("t", 7500), Price: 12.5})
		u.Cards[fmt.Sprint("card", i)] = card{strings.Repeat("4", 7500)}
	}
	return u
}

// BenchmarkSaveOneDirty saves one changed attribute of an entity of 20 items,
// beside an UpdateItem written by hand with the same effect.
func BenchmarkSaveOneDirty(b *testing.B) {
	const body = `{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"users"}}`
	ctx := context.Background()
	b.Run("itemize", func(b *testing.B) {
		users, err := mapper.New[user](cannedClient(body))
		if err != nil {
			b.Fatal(err)
		}
		e := users.New(twenty())
		if _, err := users.Save(ctx, e, mapper.Independent()); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			e.Value.Email = emails[i%2]
			if r, err := users.Save(ctx, e); err != nil || r.Requests() != 1 {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("handwritten", func(b *testing.B) {
		client := cannedClient(body)
		b.ReportAllocs()
		version := []byte("12345678")
		for i := 0; b.Loop(); i++ {
			next := []byte("87654321")
			_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName:        aws.String("users"),
				Key:              item{"PK": s("USER#6297D15"), "SK": s("U#Information")},
				UpdateExpression: aws.String("SET #e = :e, #v = :v"), ConditionExpression: aws.String("#v = :o"),
				ExpressionAttributeNames: map[string]string{"#e": "email", "#v": "_v"},
				ExpressionAttributeValues: item{
					":e": s(emails[i%2]), ":v": &types.AttributeValueMemberB{Value: next}, ":o": &types.AttributeValueMemberB{Value: version},
				},
				ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			if err != nil {
				b.Fatal(err)
			}
			version = next
		}
	})
}

var emails = []string{"b@example.com", "c@example.com"}

// stored is the shape of a wish's item for UnmarshalListOfMaps.
type storedWish struct {
	PK, SK  string
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

// BenchmarkLoad loads 20 items, beside a Query and UnmarshalListOfMaps.
func BenchmarkLoad(b *testing.B) {
	ctx := context.Background()
	for _, size := range []int{100, 7500} {
		var body strings.Builder
		body.WriteString(`{"Count":20,"ScannedCount":20,"ConsumedCapacity":{"CapacityUnits":2,"TableName":"users"},"Items":[`)
		for i := range 20 {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"PK":{"S":"USER#1"},"SK":{"S":"M#WishList#Public#%s"},"SKU":{"S":"SKU-%d"},"Title":{"S":%q},"Price":{"N":"12.5"},"_v":{"B":"MTIzNDU2Nzg="}}`,
				day(1, 1).AddDate(0, 0, i).Format("2006-01-02T15:04:05.000000000Z"), i, strings.Repeat("t", size))
		}
		body.WriteString("]}")
		client := cannedClient(body.String())
		b.Run(fmt.Sprintf("itemize/%d bytes", size), func(b *testing.B) {
			users, err := mapper.New[user](client)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				e, err := users.Load(ctx, users.Key("1").Prefix("M#WishList#Public#"))
				if err != nil || len(e.Value.Public) != 20 {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("handwritten/%d bytes", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := client.Query(ctx, &dynamodb.QueryInput{
					TableName: aws.String("users"), KeyConditionExpression: aws.String("PK = :p AND begins_with(SK, :s)"),
					ExpressionAttributeValues: item{":p": s("USER#1"), ":s": s("M#WishList#Public#")},
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
		})
	}
}
