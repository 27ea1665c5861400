package attr

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Hash returns a SHA-256 that is equal for equal items ([SameItem]). It ignores the attributes in
// without.
func Hash(a map[string]types.AttributeValue, without ...string) []byte {
	h := hasher{sha256.New()}
	h.attributes(a, without)
	return h.Sum(nil)
}

type hasher struct{ hash.Hash }

func (h hasher) text(s string) {
	h.Write(binary.AppendUvarint(nil, uint64(len(s))))
	h.Write([]byte(s))
}

func (h hasher) texts(all []string) {
	h.Write(binary.AppendUvarint(nil, uint64(len(all))))
	for _, s := range slices.Sorted(slices.Values(all)) {
		h.text(s)
	}
}

func (h hasher) attributes(a map[string]types.AttributeValue, without []string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a)),
		func(name string) bool { return slices.Contains(without, name) })
	h.Write(binary.AppendUvarint(nil, uint64(len(names))))
	for _, name := range names {
		h.text(name)
		h.value(a[name])
	}
}

func (h hasher) value(v types.AttributeValue) {
	h.text(TypeName(v))
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		h.text(v.Value)
	case *types.AttributeValueMemberN:
		h.text(Canonical(v.Value))
	case *types.AttributeValueMemberB:
		h.text(string(v.Value))
	case *types.AttributeValueMemberBOOL:
		h.Write([]byte{map[bool]byte{true: 1}[v.Value]})
	case *types.AttributeValueMemberSS:
		h.texts(v.Value)
	case *types.AttributeValueMemberNS:
		h.texts(canonicals(v.Value))
	case *types.AttributeValueMemberBS:
		h.texts(Texts(v.Value))
	case *types.AttributeValueMemberL:
		h.Write(binary.AppendUvarint(nil, uint64(len(v.Value))))
		for _, e := range v.Value {
			h.value(e)
		}
	case *types.AttributeValueMemberM:
		h.attributes(v.Value, nil)
	}
}
