package item

import (
	"crypto/sha256"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// An entity that moves to another key gets the incarnation that follows from the one before. So an item that another
// writer added under the old key shows that it is of the entity, and not of one that was deleted
// (internal/save/staging/spec/Carry.tla).

// maxMoves is how many moves of an entity are recognized.
const maxMoves = 1000

// MovedIncarnation returns the incarnation of an entity after a move, nil for an entity without one.
func MovedIncarnation(was types.AttributeValue) types.AttributeValue {
	if was == nil {
		return nil
	}
	sum := sha256.Sum256(append([]byte("moved "), attr.Hash(Attributes{"": was})...))
	return &types.AttributeValueMemberB{Value: sum[:TokenSize]}
}

// MovedFrom reports whether an entity of an incarnation had another one before, which a move replaced.
func MovedFrom(now, was types.AttributeValue) bool {
	if now == nil || was == nil || attr.Same(now, was) {
		return false
	}
	for range maxMoves {
		if was = MovedIncarnation(was); attr.Same(now, was) {
			return true
		}
	}
	return false
}
