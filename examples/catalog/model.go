package main

import "github.com/itemize/itemize/large"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Product is stored in the tables ProductCatalog, ProductAvailability and ExtendedProductCatalog of the
// guidelines for items. Each has one key attribute, Id, a number. The image is an object in S3, as the
// guidelines advise.
type Product struct {
	_           struct{} `ddb:"table=ProductCatalog,hash=Id,range=-"`
	_           struct{} `ddb:"table=ProductAvailability,hash=Id,range=-,name=Availability"`
	_           struct{} `ddb:"table=ExtendedProductCatalog,hash=Id,range=-,name=Extended"`
	ID          int      `ddb:"pk={ID}"`
	Title       string
	Description string
	Authors     []string       `dynamodbav:",stringset,omitempty"`
	Price       float64        `ddb:"table=ProductAvailability"`
	Quantity    int            `ddb:"table=ProductAvailability"`
	Dimensions  string         `ddb:"table=ExtendedProductCatalog"`
	Tracks      map[int]string `ddb:"table=ExtendedProductCatalog" dynamodbav:",omitempty"`

	Image large.Value[[]byte] `ddb:"s3=images,inline=1KB"`
}

// Shelf stores each tag as an item, so that adding a tag writes one item.
type Shelf struct {
	_      struct{}            `ddb:"table=Shelves"`
	Name   string              `ddb:"pk=SHELF#{Name}"`
	Room   string              `ddb:"sk=HEAD"`
	Labels []string            `ddb:"sk=LABEL#{.}"`
	Tags   map[string]struct{} `ddb:"sk=TAG#{key}"`
}

// OneItem is a product, or a shelf, in one item. The program compares the other layouts with it.
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
