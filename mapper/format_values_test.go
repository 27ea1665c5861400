package mapper_test

import (
	"time"

	"github.com/itemize/itemize/internal/testing/models"
)

// goValues are the values of internal/testdata/format/values.json, in its order: the Go expression, and its value.
var goValues = []models.GoValue{
	valueOf[string](`"text"`, "text"),
	valueOf[string](`""`, ""),
	valueOf[string](`"Zoë 日本 😀"`, "Zoë 日本 😀"),
	valueOf[string](`"a#b%~"`, "a#b%~"),
	valueOf[string](`""`, ""),
	valueOf[string](`"x"`, "x"),
	valueOf[bool](`true`, true),
	valueOf[bool](`false`, false),
	valueOf[bool](`false`, false),
	valueOf[bool](`true`, true),
	valueOf[int](`0`, 0),
	valueOf[int](`42`, 42),
	valueOf[int](`-42`, -42),
	valueOf[int](`1000000`, 1000000),
	valueOf[int](`0`, 0),
	valueOf[int](`7`, 7),
	valueOf[int8](`-128`, -128),
	valueOf[int16](`32767`, 32767),
	valueOf[int32](`-2147483648`, -2147483648),
	valueOf[int64](`9223372036854775807`, 9223372036854775807),
	valueOf[int64](`-9223372036854775808`, -9223372036854775808),
	valueOf[uint](`5`, 5),
	valueOf[uint8](`255`, 255),
	valueOf[uint32](`4294967295`, 4294967295),
	valueOf[uint64](`18446744073709551615`, 18446744073709551615),
	valueOf[int](`5`, 5),
	valueOf[int64](`-9223372036854775808`, -9223372036854775808),
	valueOf[uint64](`18446744073709551615`, 18446744073709551615),
	valueOf[int](`0`, 0),
	valueOf[int](`0`, 0),
	valueOf[float64](`0`, 0),
	valueOf[float64](`1.5`, 1.5),
	valueOf[float64](`-2.25`, -2.25),
	valueOf[float64](`0.1`, 0.1),
	valueOf[float64](`100`, 100),
	valueOf[float64](`0.30000000000000004`, 0.30000000000000004),
	valueOf[float64](`3.141592653589793`, 3.141592653589793),
	valueOf[float64](`0.000001`, 0.000001),
	valueOf[float64](`1.0/3.0`, 1.0/3.0),
	valueOf[float64](`123456789.125`, 123456789.125),
	valueOf[float32](`0.5`, 0.5),
	valueOf[float32](`0.1`, 0.1),
	valueOf[float64](`0`, 0),
	valueOf[float64](`1.5`, 1.5),
	valueOf[[]byte](`[]byte{1, 2, 3}`, []byte{1, 2, 3}),
	valueOf[[]byte](`[]byte("hello")`, []byte("hello")),
	valueOf[[]byte](`[]byte{}`, []byte{}),
	valueOf[[]byte](`nil`, nil),
	valueOf[[]byte](`nil`, nil),
	valueOf[[]byte](`[]byte{}`, []byte{}),
	valueOf[[]byte](`[]byte{0}`, []byte{0}),
	valueOf[[4]byte](`[4]byte{1, 2, 3, 4}`, [4]byte{1, 2, 3, 4}),
	valueOf[[4]byte](`[4]byte{}`, [4]byte{}),
	valueOf[[1]byte](`[1]byte{255}`, [1]byte{255}),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 500000000, time.FixedZone("", 3600))`,
		time.Date(2021, 11, 14, 9, 30, 0, 500000000, time.FixedZone("", 3600)),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)`,
		time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 123456789, time.UTC)`,
		time.Date(2021, 11, 14, 9, 30, 0, 123456789, time.UTC),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 120000000, time.UTC)`,
		time.Date(2021, 11, 14, 9, 30, 0, 120000000, time.UTC),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 1, time.FixedZone("", -19800))`,
		time.Date(2021, 11, 14, 9, 30, 0, 1, time.FixedZone("", -19800)),
	),
	valueOf[time.Time](`time.Time{}`, time.Time{}),
	valueOf[time.Time](
		`time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)`,
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)`,
		time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC),
	),
	valueOf[time.Time](
		`time.Date(2021, 11, 14, 9, 30, 0, 0, time.FixedZone("", 3600))`,
		time.Date(2021, 11, 14, 9, 30, 0, 0, time.FixedZone("", 3600)),
	),
	valueOf[time.Time](`time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)`, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)),
	valueOf[time.Time](
		`time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)`,
		time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC),
	),
	valueOf[time.Time](`time.Time{}`, time.Time{}),
	valueOf[[]string](`[]string{"a"}`, []string{"a"}),
	valueOf[[]string](`[]string{"b", "a", "b"}`, []string{"b", "a", "b"}),
	valueOf[[]string](`[]string{}`, []string{}),
	valueOf[[]string](`nil`, nil),
	valueOf[[]string](`[]string{""}`, []string{""}),
	valueOf[[]string](`nil`, nil),
	valueOf[[]string](`[]string{}`, []string{}),
	valueOf[[]string](`[]string{""}`, []string{""}),
	valueOf[[]int](`[]int{3, -1, 0}`, []int{3, -1, 0}),
	valueOf[[]float64](`[]float64{0.5, 1, -2.75}`, []float64{0.5, 1, -2.75}),
	valueOf[[]bool](`[]bool{true, false}`, []bool{true, false}),
	valueOf[[2]int](`[2]int{1, 2}`, [2]int{1, 2}),
	valueOf[[2]string](`[2]string{"a", ""}`, [2]string{"a", ""}),
	valueOf[[][]int](`[][]int{{1, 2}, nil, {}}`, [][]int{{1, 2}, nil, {}}),
	valueOf[[][]byte](`[][]byte{{1}, {2, 3}}`, [][]byte{{1}, {2, 3}}),
	valueOf[[]time.Time](
		`[]time.Time{time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)}`,
		[]time.Time{time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)},
	),
	valueOf[map[string]int](`map[string]int{"a": 1, "b": -2}`, map[string]int{"a": 1, "b": -2}),
	valueOf[map[string]int](`map[string]int{}`, map[string]int{}),
	valueOf[map[string]int](`nil`, nil),
	valueOf[map[string]int](`map[string]int{}`, map[string]int{}),
	valueOf[map[string]int](`nil`, nil),
	valueOf[map[int]string](
		`map[int]string{1: "one", -2: "minus two", 300: ""}`,
		map[int]string{1: "one", -2: "minus two", 300: ""},
	),
	valueOf[map[uint8]bool](`map[uint8]bool{0: true, 255: false}`, map[uint8]bool{0: true, 255: false}),
	valueOf[map[string][]string](
		`map[string][]string{"a": {"x"}, "b": nil, "c": {}}`,
		map[string][]string{"a": {"x"}, "b": nil, "c": {}},
	),
	valueOf[map[string]map[string]float64](
		`map[string]map[string]float64{"a": {"x": 0.25}}`,
		map[string]map[string]float64{"a": {"x": 0.25}},
	),
	valueOf[map[string]string](`map[string]string{"a#b%~": "x"}`, map[string]string{"a#b%~": "x"}),
	valueOf[[]string](`[]string{"a", "b"}`, []string{"a", "b"}),
	valueOf[[]string](`[]string{"x"}`, []string{"x"}),
	valueOf[[]string](`nil`, nil),
	valueOf[[]string](`[]string{}`, []string{}),
	valueOf[[]string](`[]string{}`, []string{}),
	valueOf[[]string](`nil`, nil),
	valueOf[[]string](`[]string{"a"}`, []string{"a"}),
	valueOf[[]int](`[]int{-1, 2, 30}`, []int{-1, 2, 30}),
	valueOf[[]float64](`[]float64{0.5, 1.25}`, []float64{0.5, 1.25}),
	valueOf[[]int](`[]int{}`, []int{}),
	valueOf[[]int](`nil`, nil),
	valueOf[[][]byte](`[][]byte{{1, 2}, {3}}`, [][]byte{{1, 2}, {3}}),
	valueOf[[][]byte](`[][]byte{}`, [][]byte{}),
	valueOf[*string](`nil`, nil),
	valueOf[*string](`nil`, nil),
	valueOf[*string](
		`func() *string { v := string("x"); return &v }()`,
		func() *string { v := string("x"); return &v }(),
	),
	valueOf[*string](
		`func() *string { v := string(""); return &v }()`,
		func() *string { v := string(""); return &v }(),
	),
	valueOf[*int](`nil`, nil),
	valueOf[*int](`func() *int { v := int(-3); return &v }()`, func() *int { v := int(-3); return &v }()),
	valueOf[*bool](`func() *bool { v := bool(false); return &v }()`, func() *bool { v := bool(false); return &v }()),
	valueOf[*time.Time](`nil`, nil),
	valueOf[*time.Time](
		`func() *time.Time { v := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC); return &v }()`,
		func() *time.Time { v := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC); return &v }(),
	),
	valueOf[[]*string](`[]*string{nil}`, []*string{nil}),
	valueOf[map[string]*int](`map[string]*int{"a": nil}`, map[string]*int{"a": nil}),
	valueOf[struct {
		Name string
		Age  int
		note string
	}](
		`struct{ Name string; Age int; note string }{Name: "Ann", Age: 7, note: "x"}`,
		struct {
			Name string
			Age  int
			note string
		}{Name: "Ann", Age: 7, note: "x"},
	),
	valueOf[struct {
		Text  string
		Lines []string
		Next  *int
		Data  []byte
	}](
		`struct{ Text string; Lines []string; Next *int; Data []byte }{}`,
		struct {
			Text  string
			Lines []string
			Next  *int
			Data  []byte
		}{},
	),
	valueOf[*struct{ A int }](`nil`, nil),
	valueOf[*struct{ A int }](`&struct{ A int }{A: 1}`, &struct{ A int }{A: 1}),
	valueOf[[]struct{ A int }](`[]struct{ A int }{{A: 1}, {A: 0}}`, []struct{ A int }{{A: 1}, {A: 0}}),
	valueOf[map[string]struct{ B bool }](
		`map[string]struct{ B bool }{"x": {B: true}}`,
		map[string]struct{ B bool }{"x": {B: true}},
	),
	valueOf[struct{ Inner struct{ At time.Time } }](
		`struct{ Inner struct{ At time.Time } }{}`,
		struct{ Inner struct{ At time.Time } }{},
	),
	valueOf[struct {
		A string `dynamodbav:"a,omitempty"`
		B string `dynamodbav:"b"`
	}](
		"struct{ A string `dynamodbav:\"a,omitempty\"`; B string `dynamodbav:\"b\"` }{}",
		struct {
			A string `dynamodbav:"a,omitempty"`
			B string `dynamodbav:"b"`
		}{},
	),
	valueOf[float64](`1e21`, 1e21),
	valueOf[float64](`1e-7`, 1e-7),
}
