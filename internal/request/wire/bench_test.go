package wire

import (
	"fmt"
	"strings"
	"testing"
)

// aPage is the answer to a query of 1,000 items of some 870 bytes.
func aPage() []byte {
	var b strings.Builder
	b.WriteString(`{"Count":1000,"ScannedCount":1000,"ConsumedCapacity":{"CapacityUnits":128,"TableName":"users"},` +
		`"Items":[`)
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"PK":{"S":"USER#6297D15"},"SK":{"S":"WISH#2021-11-01T10:%02d:%02dZ"},"SKU":{"S":"SKU-%d"},`+
			`"Title":{"S":"A very nice title of a thing"},"Notes":{"S":%q},"Price":{"N":"12.5"},"Qty":{"N":"%d"},`+
			`"_v":{"B":"AAECAwQFBgc="},"_a":{"B":"AQIDBAUGBwg="},"Tags":{"L":[{"S":"red"},{"S":"blue"}]}}`, i/60, i%60,
			i, strings.Repeat("n", 600), i)
	}
	b.WriteString(`],"LastEvaluatedKey":{"PK":{"S":"USER#6297D15"},"SK":{"S":"x"}}}`)
	return []byte(b.String())
}

// BenchmarkRead finds where the values of a page are.
func BenchmarkRead(b *testing.B) {
	body := aPage()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		p := newPage(true, true)
		p.body = body
		if _, ok := Query.read(p, nil); !ok || len(p.Items) != 1000 {
			b.Fatal(len(p.Items))
		}
		p.Release()
	}
}
