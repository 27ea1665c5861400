package generator

import (
	"testing"
	"time"
)

// Changes of a model that lose stored data, or make it unloadable, are refused. (An attack found these, which
// were let through.)
func TestLockRefusesLosingChanges(t *testing.T) {
	type blank = struct{}
	type noteID struct {
		N  int
		ID string
		T  string
	}
	type note struct {
		N int
		T string
	}
	type i8s struct {
		_  blank  `ddb:"table=shops"`
		ID string `ddb:"pk=SHOP#{ID}"`
		A  []int8 `ddb:"sk=HEAD" dynamodbav:",numberset"`
	}
	for name, c := range map[string]struct{ before, after any }{
		"1 element field with the name of a model's key field vanishes": {struct {
			_  blank    `ddb:"table=shops"`
			ID string   `ddb:"pk=SHOP#{ID}"`
			B  string   `ddb:"sk=HEAD"`
			L  []noteID `ddb:"sk=L#{N:03}"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
			L  []note `ddb:"sk=L#{N:03}"`
		}{}},
		"renamed: state=phase": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops,state=phase"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}},
		"renamed: incarnation=life": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops,incarnation=life"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}},
		"renamed: migration=moved": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops,migration=moved"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}},
		"2 was= goes too early, and a new field takes the old name": {struct {
			_        blank  `ddb:"table=shops"`
			ID       string `ddb:"pk=SHOP#{ID}"`
			FullName string `ddb:"sk=HEAD,was=Name"`
		}{}, struct {
			_        blank  `ddb:"table=shops"`
			ID       string `ddb:"pk=SHOP#{ID}"`
			FullName string `ddb:"sk=HEAD"`
			Name     string `ddb:"sk=HEAD"`
		}{}},
		"3 was= of an attribute that items store beside the new name": {struct {
			_        blank  `ddb:"table=shops"`
			ID       string `ddb:"pk=SHOP#{ID}"`
			FullName string `ddb:"sk=HEAD"`
			Name     string `ddb:"sk=HEAD"`
		}{}, struct {
			_        blank  `ddb:"table=shops"`
			ID       string `ddb:"pk=SHOP#{ID}"`
			FullName string `ddb:"sk=HEAD,was=Name"`
		}{}},
		"4 was= of two attributes of one item": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  string `ddb:"sk=HEAD"`
			B  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			C  string `ddb:"sk=HEAD,was='A,B'"`
		}{}},
		"5 string to int,string": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  int    `ddb:"sk=HEAD" dynamodbav:",string"`
		}{}},
		"6 a number set narrows": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			A  []int64 `ddb:"sk=HEAD" dynamodbav:",numberset"`
		}{}, i8s{}},
		"7 an array shrinks": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  []int  `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  [2]int `ddb:"sk=HEAD"`
		}{}},
		"8 map keys of text become numbers": {struct {
			_  blank          `ddb:"table=shops"`
			ID string         `ddb:"pk=SHOP#{ID}"`
			A  map[string]int `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank       `ddb:"table=shops"`
			ID string      `ddb:"pk=SHOP#{ID}"`
			A  map[int]int `ddb:"sk=HEAD"`
		}{}},
		"9 number in string narrows": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  int64  `ddb:"sk=HEAD" dynamodbav:",string"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  int8   `ddb:"sk=HEAD" dynamodbav:",string"`
		}{}},
		"10 slice becomes a map's item": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
			L  []note `ddb:"sk=L#{N:03}"`
		}{}, struct {
			_  blank           `ddb:"table=shops"`
			ID string          `ddb:"pk=SHOP#{ID}"`
			B  string          `ddb:"sk=HEAD"`
			L  map[string]note `ddb:"sk=L#{key}"`
		}{}},
		"11 the ttl attribute gets another name": {struct {
			_  blank  `ddb:"table=shops,ttl=exp"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops,ttl=expires"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD"`
		}{}},
		"12 text becomes a time": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			A  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			A  time.Time `ddb:"sk=HEAD"`
		}{}},
		"13 a float becomes unixtime": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			A  float64 `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			A  time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
		}{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := losses(t, c.before, c.after); len(got) == 0 {
				t.Error("let through")
			}
		})
	}
}
