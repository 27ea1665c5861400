package charge

import (
	"fmt"
	"math"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// PartSizes returns the sizes of the items that hold a value in parts. There are as few as possible,
// and all but the last are full, with overhead bytes of keys and names. Values of more than 1 TB are
// refused.
func PartSizes(bytes, overhead int) ([]int, error) {
	switch {
	case bytes < 0 || overhead < 0:
		return nil, fmt.Errorf("a value of %d bytes in parts with %d more each: write numbers of 0 or more", bytes,
			overhead)
	case bytes > min(1<<40, math.MaxInt-1):
		return nil, fmt.Errorf("a value of %d bytes in parts: the limit is 1 TB: store it elsewhere", bytes)
	case overhead >= cost.MaxItem:
		return nil, fmt.Errorf("parts with %s of overhead: an item has at most 400 KB", attr.Bytes(overhead))
	}
	var sizes []int
	for ; bytes > cost.MaxItem-overhead; bytes -= cost.MaxItem - overhead {
		sizes = append(sizes, cost.MaxItem)
	}
	return append(sizes, bytes+overhead), nil
}
