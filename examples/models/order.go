package models

// Order is a flat model of several items: ORDER#000042#HEAD, ORDER#000042#LINE#001 and
// so on are together in the customer's partition. Its prices are in another table.
type Order struct {
	_        struct{} `ddb:"table=shop"`
	_        struct{} `ddb:"table=prices,range=SK,name=PriceTable"`
	Customer string   `ddb:"pk=CUSTOMER#{Customer}"`
	N        int      `ddb:"sk=ORDER#{N:06}#HEAD"`
	Status   string   `ddb:"sk=ORDER#{N:06}#HEAD"`
	Lines    []Line   `ddb:"sk=ORDER#{^N:06}#LINE#{Line:03}"`
	Prices   []Price  `ddb:"table=prices,sk=ORDER#{^N:06}#PRICE#{Line:03}"`
}

// Line is one line of an order.
type Line struct {
	Line  int
	SKU   string
	Count int
}

// Price is the price of a line, in cents.
type Price struct {
	Line  int
	Cents int
}
