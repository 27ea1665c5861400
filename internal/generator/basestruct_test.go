package generator

import (
	"fmt"
	"strings"
	"testing"
)

// A model that another one embeds without its keys stays a model: gen refuses one name of guards in both, and does not
// drop one of them.
func TestAnEmbeddedModelHasGuardsOfItsOwn(t *testing.T) {
	source := "package p\n\ntype Base struct {\n\t_ struct{} `ddb:\"table=clubs\"`\n\tID string `ddb:\"pk=B#{ID}\"`\n\t" +
		"Mail string `ddb:\"sk=HEAD,unique\"`\n}\n\ntype User struct {\n\t_ struct{} `ddb:\"table=clubs\"`\n\tBase `ddb:\"-\"`\n\t" +
		"Name string `ddb:\"pk=U#{Name}\"`\n\tNick string `ddb:\"sk=HEAD,unique%s\"`\n}\n"
	files, diagnostics := filesOf(t, map[string]string{"m.go": fmt.Sprintf(source, "")})
	if len(diagnostics) > 0 || !strings.Contains(files["m_itemize.go"], "func BaseByMail(") {
		t.Errorf("Base is no model: %v", diagnostics)
	}
	_, diagnostics = filesOf(t, map[string]string{"m.go": fmt.Sprintf(source, ",as='Base#Mail'")})
	if text := fmt.Sprint(diagnostics); !strings.Contains(text, "are named Base#Mail") {
		t.Errorf("one name of guards in two models: %s", text)
	}
}
