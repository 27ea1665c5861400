package models

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Named types of every kind.
type (
	Color  int
	Level  uint8
	Name   string
	Blob   []byte
	Ratio  float64
	Flag   bool
	Stamp  time.Time
	Labels map[string]string
	Lines  []string
	UUID   [16]byte
)

// MarshalText writes the UUID in hexadecimal digits.
func (u UUID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", u[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (u *UUID) UnmarshalText(b []byte) error {
	if len(b) != 32 {
		return errors.New("a UUID has 32 digits")
	}
	for i := range u {
		n, err := strconv.ParseUint(string(b[2*i:2*i+2]), 16, 8)
		if err != nil {
			return err
		}
		u[i] = byte(n)
	}
	return nil
}

// Size is an integer with a text form.
type Size int

var sizeNames = []string{"small", "medium", "large"}

// MarshalText writes the size's name.
func (s Size) MarshalText() ([]byte, error) {
	if s < 0 || int(s) >= len(sizeNames) {
		return nil, fmt.Errorf("no size %d", int(s))
	}
	return []byte(sizeNames[s]), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Size) UnmarshalText(b []byte) error {
	for i, n := range sizeNames {
		if n == string(b) {
			*s = Size(i)
			return nil
		}
	}
	return fmt.Errorf("no size %q", b)
}

// Point encodes itself as a string; its methods are on the pointer.
type Point struct{ x, y int }

// MarshalDynamoDBAttributeValue writes "x,y".
func (p *Point) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: fmt.Sprintf("%d,%d", p.x, p.y)}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue writes.
func (p *Point) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return errors.New("a point is a string")
	}
	x, y, _ := strings.Cut(s.Value, ",")
	var errX, errY error
	p.x, errX = strconv.Atoi(x)
	p.y, errY = strconv.Atoi(y)
	return errors.Join(errX, errY)
}

// SetPoint sets the coordinates.
func (p *Point) SetPoint(x, y int) { p.x, p.y = x, y }

// Equal compares points, for go-cmp.
func (p Point) Equal(q Point) bool { return p == q }

// Money encodes itself as a map; its methods are on the value.
type Money struct {
	Cents    int64
	Currency string
}

// MarshalDynamoDBAttributeValue writes a map of two attributes.
func (m Money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"c": &types.AttributeValueMemberN{Value: strconv.FormatInt(m.Cents, 10)},
		"u": &types.AttributeValueMemberS{Value: m.Currency},
	}}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue writes.
func (m *Money) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	v, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return errors.New("money is a map")
	}
	n, ok := v.Value["c"].(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("money has cents")
	}
	u, ok := v.Value["u"].(*types.AttributeValueMemberS)
	if !ok {
		return errors.New("money has a currency")
	}
	var err error
	m.Cents, err = strconv.ParseInt(n.Value, 10, 64)
	m.Currency = u.Value
	return err
}

// Address is a plain struct.
type Address struct {
	Street string
	City   string `dynamodbav:"city"`
	Zip    *string
	Floor  int `dynamodbav:"floor,omitempty"`
}

// Wish is an element with a time.
type Wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
	Tags    []string
	Extra   map[string]any
}

// Card is an element of a map.
type Card struct {
	Last4   string
	Expires time.Time `dynamodbav:"exp,unixtime"`
	Holder  *Address
}

// Deep nests structs, slices and maps.
type Deep struct {
	List  []Address
	Map   map[string]Address
	Ptr   *Deeper
	Array [2]Deeper
	Lists [][]int
}

// Deeper is the inside of Deep.
type Deeper struct {
	When  time.Time
	Names []Name `dynamodbav:",stringset,omitempty"`
	Any   any
	Data  []byte `dynamodbav:"d,omitempty"`
}

// Base is embedded.
type Base struct {
	CreatedAt time.Time `ddb:"sk=BASE"`
	CreatedBy string    `ddb:"sk=BASE" dynamodbav:"by,omitempty"`
	Shadowed  string    `ddb:"sk=BASE"`
}

// Audit is embedded by pointer.
type Audit struct {
	Reviewer string `ddb:"sk=AUDIT"`
	Score    int    `ddb:"sk=AUDIT"`
}

// Common is embedded in elements and spread structs.
type Common struct {
	Note string
	At   time.Time `dynamodbav:"at"`
}
