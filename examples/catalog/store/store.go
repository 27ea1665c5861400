// Package store holds a product catalogue in three tables: what is displayed all the time, what changes
// all the time, and what hardly anybody asks for.
package store

import "github.com/itemize/itemize/blob"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Product lies in the tables ProductCatalog, ProductAvailability and ExtendedProductCatalog of the
// guidelines for items, each with one key attribute, Id, a number. Its image is an object in S3, as they advise.
type Product struct {
	_           struct{} `ddb:"table=ProductCatalog,hash=Id,range=-"`
	_           struct{} `ddb:"table=ProductAvailability,hash=Id,range=-,name=Availability"`
	_           struct{} `ddb:"table=ExtendedProductCatalog,hash=Id,range=-,name=Extended"`
	ID          int      `ddb:"pk={ID}"`
	Title       string   `ddb:"name=Catalog"`
	Description string
	Authors     []string       `dynamodbav:",stringset,omitempty"`
	Price       float64        `ddb:"table=ProductAvailability"`
	Quantity    int            `ddb:"table=ProductAvailability"`
	Dimensions  string         `ddb:"table=ExtendedProductCatalog"`
	Tracks      map[int]string `ddb:"table=ExtendedProductCatalog" dynamodbav:",omitempty"`

	Image blob.Value[[]byte] `ddb:"s3=images,inline=1KB"`
}

// Shelf has its tags as one item each, so that one more costs that one.
type Shelf struct {
	_      struct{}            `ddb:"table=Shelves"`
	Name   string              `ddb:"pk=SHELF#{Name}"`
	Room   string              `ddb:"sk=HEAD"`
	Labels []string            `ddb:"sk=LABEL#{.}"`
	Tags   map[string]struct{} `ddb:"sk=TAG#{key}"`
}

// OneItem is a product, or a shelf, in one item: what the others are compared with.
type OneItem struct {
	_           struct{} `ddb:"table=OneItem,hash=Id,range=-"`
	ID          int      `ddb:"pk={ID}"`
	Title       string
	Description string
	Price       float64
	Quantity    int
	Dimensions  string
	Labels      []string `dynamodbav:",stringset,omitempty"`
}
