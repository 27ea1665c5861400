package generator

import (
	"strings"
	"testing"
)

// Two indexes with the same key attributes have the items of each other. The advice names both.
func TestAdviceNamesIndexesWithTheSameKeys(t *testing.T) {
	const byState = "_ struct{} `ddb:\"index=byState,hash=GSI1PK,range=GSI1SK,pk=STATE#{State},sk={Opened}\"`\n\t"
	const byAuthor = "_ struct{} `ddb:\"index=byAuthor,hash=GSI1PK,range=GSI1SK,pk=BY#{By},sk={At},on=Notes\"`"
	for name, c := range map[string]struct {
		indexes string
		advice  int
	}{
		"two names":        {byState + byAuthor, 1},
		"one name":         {strings.ReplaceAll(byState+byAuthor, "byAuthor", "byState"), 0},
		"other attributes": {byState + strings.ReplaceAll(byAuthor, "GSI1", "GSI2"), 0},
		"another sort key": {byState + strings.ReplaceAll(byAuthor, "GSI1SK", "GSI2SK"), 0},
		"two projections of one kind": {
			byState + strings.ReplaceAll(byState, "index=byState", "project=keys,index=byKeys"), 0,
		},
		"no sort keys": {
			"_ struct{} `ddb:\"index=first,hash=X,pk=S#{State}\"`\n\t_ struct{} `ddb:\"index=second,hash=X,pk=B#{By},on=Notes\"`", 1,
		},
		"local indexes": {
			"_ struct{} `ddb:\"index=first,local,range=X,sk=S#{State}\"`\n\t" +
				"_ struct{} `ddb:\"index=second,local,range=X,sk=B#{By},on=Notes\"`", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := packagesOf(t, map[string]string{"m.go": "package p\n\nimport \"time\"\n\n" +
				"type Ticket struct {\n\t_ struct{} `ddb:\"table=tickets\"`\n\tID string `ddb:\"pk=T#{ID}\"`\n\t" +
				c.indexes + "\n\tState string `ddb:\"sk=HEAD\"`\n\tOpened time.Time `ddb:\"sk=HEAD\"`\n\t" +
				"Notes []Note `ddb:\"sk=NOTE#{At}\"`\n}\n\ntype Note struct {\n\tAt time.Time\n\tBy string\n}\n"})
			if got := all[0].Advice(); len(got) != c.advice {
				_, found, _ := all[0].Generate(nil, false)
				t.Errorf("%v %v", got, found)
			}
		})
	}
}
