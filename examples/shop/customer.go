package main

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Customer describes the table: its keys, its attributes, and the item that every customer has. The other programs have
// attributes named _v and _s, so the library's have other names.
type Customer struct {
	_       struct{}  `ddb:"table=shop,hash=pk,range=sk,delim=|,version=goVersion,state=goState,incarnation=goInsert"`
	Number  string    `ddb:"pk=cust|{Number}"`
	Name    string    `ddb:"sk=profile" dynamodbav:"name"`
	Mail    string    `ddb:"sk=profile" dynamodbav:"mail"`
	Edition int       `ddb:"sk=profile" dynamodbav:"_v"` // the lock of the other programs: they count it up
	Groups  []string  `ddb:"sk=profile" dynamodbav:"groups,stringset,omitempty"`
	Since   time.Time `ddb:"sk=profile" dynamodbav:"since,unixtime"`
	Balance Balance   `ddb:"sk=balance"`
	Orders  []Order   `ddb:"sk=order|{Placed:date}|{No}"`
}

// Balance is in an item of its own.
type Balance struct {
	Cents int64 `dynamodbav:"cents"`
}

// Order is an item. Its day and number are in its key, and the other programs store the day a second time.
type Order struct {
	Placed time.Time `dynamodbav:"day"`
	No     string    `dynamodbav:"no"`
	State  string    `dynamodbav:"_s"`
	Cents  int64     `dynamodbav:"cents"`
}
