package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	never   = -62135596800 // the zero time in epoch seconds
	keyTime = "2006-01-02T15:04:05.000000000Z"
)

type (
	value = types.AttributeValue
	item  = map[string]value
)

type Clinic struct {
	ID string
	Head
	Address *Address
	Letter  string
	Visits  []Visit
	Staff   map[string]Person
	Rooms   []Room
	Wards   []string
	Offer   *Offer
	Scan    []byte
}

type Head struct {
	Name   string
	Opened time.Time
	Beds   int64
	Rating float64
	Tags   []string `dynamodbav:"tags,omitempty,stringset"`
}

type Address struct {
	Street string
	City   string `dynamodbav:"city"`
	Lines  []string
}

type Visit struct {
	At      time.Time `dynamodbav:"-"`
	Patient string    `dynamodbav:"-"`
	Reason  string
	Cost    int64
}

type Person struct {
	Role  string
	Since int64
	Phone *string
}

type Room struct {
	Floor     int `dynamodbav:"-"`
	Number    int `dynamodbav:"-"`
	Beds      int
	Equipment map[string]int
}

type Offer struct {
	Text    string
	Until   time.Time
	Expires *int64 `json:"-" dynamodbav:"expires,omitempty"`
}

// Keys

func escape(s string) string {
	s = strings.NewReplacer("%", "%25", "#", "%23").Replace(s)
	if rest, ok := strings.CutPrefix(s, "~"); ok {
		s = "%7E" + rest
	}
	return s
}

func partitionKey(id string) (string, error) {
	pk := "CLINIC#" + escape(id)
	if id == "" || !utf8.ValidString(id) || len(pk) > 2048 {
		return "", fmt.Errorf("the id %.40q cannot be in a key", id)
	}
	return pk, nil
}

func visitKey(v Visit) string {
	return "VISIT#" + v.At.UTC().Format(keyTime) + "#" + escape(v.Patient)
}

func roomKey(r Room) string {
	return fmt.Sprintf("ROOM#%020d#%04d", uint64(r.Floor)+1<<63, r.Number)
}

func parseVisit(sk string) (v Visit, ok bool) {
	at, patient, _ := strings.Cut(strings.TrimPrefix(sk, "VISIT#"), "#")
	v.At, _ = time.Parse(keyTime, at)
	v.Patient, _ = url.PathUnescape(patient)
	return v, !v.At.IsZero() && v.Patient != "" && visitKey(v) == sk
}

func parseRoom(sk string) (r Room, ok bool) {
	floor, number, _ := strings.Cut(strings.TrimPrefix(sk, "ROOM#"), "#")
	n, _ := strconv.ParseUint(floor, 10, 64)
	r.Floor = int(n - 1<<63)
	r.Number, _ = strconv.Atoi(number)
	return r, r.Number >= 0 && r.Number <= 9999 && roomKey(r) == sk
}

func parseText(prefix, sk string) (s string, ok bool) {
	s, _ = url.PathUnescape(strings.TrimPrefix(sk, prefix))
	return s, s != "" && prefix+escape(s) == sk
}

// isKey tells whether a text is a sort key of the model.
func isKey(sk string) bool {
	_, visit := parseVisit(sk)
	_, room := parseRoom(sk)
	_, person := parseText("STAFF#", sk)
	_, ward := parseText("WARD#", sk)
	fixed := []string{"HEAD", "ADDRESS", "LETTER", "OFFER", "SCAN"}
	return len(sk) <= 1024 && (visit || room || person || ward || slices.Contains(fixed, sk))
}

// Attributes

func text(s string) value { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) value { return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)} }

func binary(b []byte) value { return &types.AttributeValueMemberB{Value: b} }

func random() value {
	b := make([]byte, 8)
	rand.Read(b)
	return binary(b)
}

func equal(a, b value) bool { return reflect.DeepEqual(a, b) }

func sortKey(it item) string { return it["SK"].(*types.AttributeValueMemberS).Value }

func find(items []item, sk string) item {
	if i := slices.IndexFunc(items, func(it item) bool { return sortKey(it) == sk }); i >= 0 {
		return items[i]
	}
	return nil
}

func compress(s string) value {
	var frame bytes.Buffer
	w := gzip.NewWriter(&frame)
	io.WriteString(w, s)
	w.Close()
	if frame.Len() < len(s) {
		return binary(frame.Bytes())
	}
	return text(s)
}

// decompress accepts gzip and zlib.
func decompress(frame []byte, most int64) ([]byte, error) {
	var r io.Reader
	r, err := gzip.NewReader(bytes.NewReader(frame))
	if err != nil {
		if r, err = zlib.NewReader(bytes.NewReader(frame)); err != nil {
			return nil, fmt.Errorf("decompress, neither gzip nor zlib: %w", err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = errors.New("too large")
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return b, nil
}

// Items

// newItem makes an item of attributes, or of a struct with them.
func newItem(pk, sk string, incarnation value, attributes any) (item, error) {
	if !isKey(sk) {
		return nil, fmt.Errorf("%.60q cannot be a key", sk)
	}
	it, ok := attributes.(item)
	if !ok {
		var err error
		if it, err = attributevalue.MarshalMap(attributes); err != nil {
			return nil, fmt.Errorf("encode %s: %w", sk, err)
		}
	}
	it["PK"], it["SK"], it["_v"] = text(pk), text(sk), random()
	if incarnation != nil {
		it["_a"] = incarnation
	}
	return it, nil
}

// encode returns the items of an entity, the root item first.
func encode(pk string, c Clinic) (items []item, err error) {
	incarnation, seen := random(), map[string]bool{}
	add := func(sk string, attributes any) {
		it, e := newItem(pk, sk, incarnation, attributes)
		if seen[sk] {
			e = fmt.Errorf("two elements have the key %s", sk)
		}
		seen[sk], items, err = true, append(items, it), errors.Join(err, e)
	}
	c.Opened = c.Opened.UTC()
	add("HEAD", c.Head)
	if c.Address != nil {
		add("ADDRESS", c.Address)
	}
	if c.Letter != "" {
		add("LETTER", item{"Letter": compress(c.Letter)})
	}
	if c.Offer != nil {
		c.Offer.Until = c.Offer.Until.UTC()
		if seconds := c.Offer.Until.Unix(); !c.Offer.Until.IsZero() {
			c.Offer.Expires = &seconds
		}
		add("OFFER", c.Offer)
	}
	if len(c.Scan) > 1024 {
		return nil, errLarge
	}
	if c.Scan != nil {
		add("SCAN", item{"Scan": binary(c.Scan)})
	}
	for _, v := range c.Visits {
		add(visitKey(v), v)
	}
	for name, p := range c.Staff {
		add("STAFF#"+escape(name), p)
	}
	for _, r := range c.Rooms {
		add(roomKey(r), r)
	}
	for _, w := range c.Wards {
		add("WARD#"+escape(w), item{})
	}
	return items, err
}

// decode adds an item to an entity. The item SCAN comes later.
func decode(c *Clinic, it item) (err error) {
	sk := sortKey(it)
	switch sk {
	case "HEAD":
		err = unmarshal(it, &c.Head, "Name", "Opened", "Beds", "Rating", "tags")
		c.Opened, c.Tags = c.Opened.UTC(), append([]string{}, c.Tags...)
		slices.Sort(c.Tags)
	case "ADDRESS":
		c.Address = &Address{}
		err = unmarshal(it, c.Address, "Street", "city", "Lines")
	case "LETTER":
		if b, ok := it["Letter"].(*types.AttributeValueMemberB); ok {
			var s []byte
			s, err = decompress(b.Value, 64<<20)
			c.Letter = string(s)
		} else {
			err = unmarshal(it, c, "Letter")
		}
	case "OFFER":
		c.Offer = &Offer{}
		err = unmarshal(it, c.Offer, "Text", "Until")
		c.Offer.Until = c.Offer.Until.UTC()
	}
	if v, ok := parseVisit(sk); ok {
		err = unmarshal(it, &v, "Reason", "Cost")
		c.Visits = append(c.Visits, v)
	} else if name, ok := parseText("STAFF#", sk); ok {
		p := Person{Since: never}
		err = unmarshal(it, &p, "Role", "Since", "Phone")
		c.Staff[name] = p
	} else if r, ok := parseRoom(sk); ok {
		err = unmarshal(it, &r, "Beds", "Equipment")
		c.Rooms = append(c.Rooms, r)
	} else if w, ok := parseText("WARD#", sk); ok {
		c.Wards = append(c.Wards, w)
	}
	return err
}

// unmarshal decodes the attributes with exactly these names. The package alone would also take others in another case.
func unmarshal(it item, v any, names ...string) error {
	known := item{}
	for _, name := range names {
		if _, null := it[name].(*types.AttributeValueMemberNULL); !null && it[name] != nil {
			known[name] = it[name]
		}
	}
	if err := attributevalue.UnmarshalMap(known, v); err != nil {
		return fmt.Errorf("decode %s: %w", sortKey(it), err)
	}
	return nil
}
