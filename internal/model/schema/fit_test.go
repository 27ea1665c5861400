package schema_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// formOf reads the form of an attribute as data, as the lock file has it. If own, the codec may refuse more than the
// form says.
func formOf(t *testing.T, a *schema.Attribute) (w schema.Wire, own bool) {
	t.Helper()
	b, err := json.Marshal(a.Value.Type.Wire(a.AV.Options))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	text := string(b)
	// A form has the 64 bits that an int has where most programs run.
	narrow := strconv.IntSize == 32 && strings.Contains(text, `int64"`)
	return w, strings.Contains(text, `"own"`) || strings.Contains(text, `"key":"text"`) || narrow
}

// Misread finds fault with just the values that the codec does not decode, for random values of random types with
// random distortions. Of types that decode themselves it finds no fault.
func TestReadIsWhatTheCodecDecodes(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	var all []reflect.Type
	for _, m := range slices.Concat(models.All, models.Indexes) {
		all = append(all, reflect.TypeOf(m).Elem())
	}
	for i := range draws.Times(100, 400, 10_000) {
		all = append(all, models.Type(r, i), models.Documented(r, i))
	}
	read, refused := 0, map[string]int{}
	for _, typ := range all {
		e, err := schema.Of(typ)
		if err != nil {
			continue
		}
		m := codec.ReflectedModel(e)
		newRecord := func(it *schema.Item) any {
			if it.Element() {
				return m.Elements(it.Index).NewElement()
			}
			return m.New()
		}
		for _, it := range e.Items {
			rec := m.Record(it.Index)
			for i, a := range it.Attributes {
				if a.Large != nil || a.Value.Type.Lazy {
					continue
				}
				w, own := formOf(t, a)
				for range 30 {
					from := newRecord(it)
					models.Draw(r, reflect.ValueOf(from).Elem(), 0)
					v, err := rec.Encode(from, i)
					if err != nil {
						v = nil
					}
					if v = models.Distorted(r, v); attr.Check(v) != nil {
						continue // DynamoDB does not store it
					}
					m := schema.Misread(&w, v, a.Name)
					err = rec.Decode(newRecord(it), i, v)
					if (m == nil) != (err == nil) && !(own && m == nil) {
						form, _ := json.Marshal(w)
						t.Fatalf("seed %d: %s %v, options %v, form %s: %s decodes with %v, and the fault is %v", seed,
							a.Value.Name, a.Value.Type.Go, a.AV.Options, form, show(v), err, m)
					}
					if m == nil {
						read++
					} else {
						refused[m.Reason]++
					}
				}
			}
		}
	}
	t.Logf("%d values are read, and others refused: %v", read, refused)
	if read < 1000 || len(refused) < 20 {
		t.Error("too few to mean anything")
	}
}

func show(v types.AttributeValue) string {
	var x any
	if err := attributevalue.Unmarshal(v, &x); err != nil {
		return err.Error()
	}
	b, _ := json.Marshal(x)
	return reflect.TypeOf(v).Elem().Name() + string(b)
}
